import FoundationEssentials
import WebImageCore

/// Decodes an arriving GIF file: the first frame row by row, then all complete frames.
final class GIFIncrementalDecoder: IncrementalImageDecoding {
    /// The first frame, once its header has arrived.
    private final class Frame {
        let size: PixelSize
        let painter: GIFPainter
        let first: GIFFirstFrame
        /// The position of the first incomplete sub-block.
        var offset: Int
        var shownCount = 0
        /// The canvas of the last partial image.
        var canvas: FrameCanvas?

        init(_ file: GIFFile, _ first: GIFFile.Frame, _ decoder: consuming LZWDecoder, _ data: Data) {
            size = file.size
            painter = GIFPainter(first, data)
            self.first = GIFFirstFrame(decoder)
            offset = first.offset + 1
        }
    }

    private let options: DecodeOptions
    private let arrival = ArrivingAnimation()
    private var data = Data()
    private var frame: Frame?
    /// Whether the first frame is complete.
    private var isDone = false
    /// The number of frames of the last partial image.
    private var shownFrameCount = 1

    init(_ options: DecodeOptions) {
        self.options = options
    }

    func append(_ next: Data) throws(ImageError) {
        guard !isDone || !options.isFirstFrameOnly else { return }
        data.append(next)
        guard !isDone else { return }
        if frame == nil { try begin() }
        guard let frame else { return }
        data.withUnsafeBytes { frame.offset = frame.first.decoder.decodeBlocks(of: $0, from: frame.offset) }
        // The following bytes belong to other frames.
        isDone = frame.first.decoder.isDone
        if isDone, options.isFirstFrameOnly { data = Data() }
    }

    func partialImage() -> WebImage? {
        if isDone, let animation = partialAnimation() { return animation }
        // If all bytes arrive at once, the first frame need not be shown alone.
        guard shownFrameCount == 1, let frame, frame.first.decoder.count > frame.shownCount else { return nil }
        if frame.canvas == nil { frame.canvas = FrameCanvas(size: frame.size) }
        guard let canvas = frame.canvas else { return nil }
        frame.painter.paint(frame.first.decoder, on: canvas, from: frame.shownCount, fillsGaps: true)
        frame.shownCount = frame.first.decoder.count
        let rows = PixelRows(start: canvas.pixels, size: frame.size, layout: .premultiplied)
        return rows.resized(to: options.size.target(for: frame.size), orientation: .up).map {
            WebImage(pixels: $0, naturalSize: frame.size, scale: options.scale, format: .gif, isPartial: true)
        }
    }

    /// An animation of the complete frames; `nil` without new frames.
    private func partialAnimation() -> WebImage? {
        guard let frame, !options.isFirstFrameOnly, let file = GIFFile(data, frameLimit: options.frameLimit),
            file.frames.count > shownFrameCount,
            let image = try? GIFCoder().decode(data, first: frame.first, isArriving: true, arrival: arrival, options)
        else { return nil }
        shownFrameCount = file.frames.count
        return image.with { $0.isPartial = true }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        let frame = frame
        self.frame = nil
        return try GIFCoder().decode(data, first: frame.flatMap { isDone ? $0.first : nil }, arrival: arrival, options)
    }

    private func begin() throws(ImageError) {
        guard let file = GIFFile(data, frameLimit: 1) else { return }
        try options.check(file.size)
        guard let first = file.frames.first, !first.rect.size.isEmpty else { return }
        try file.check(first, options)
        frame = Frame(file, first, try first.makeDecoder(options), data)
    }
}
