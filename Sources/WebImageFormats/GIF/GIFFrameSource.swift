import FoundationEssentials
import Synchronization
import WebImageCore

/// Draws the frames of a GIF file.
final class GIFFrameSource: FrameSource {
    private let data: Data
    private let file: GIFFile
    private let options: DecodeOptions
    /// The unpacked first frame, until it is drawn.
    private let first: Mutex<GIFFirstFrame?>
    /// Whether the first frame has all pixels. Missing pixels are transparent, as in browsers.
    let isFirstWhole: Bool

    /// - Parameter first: The first frame, if an incremental decoder has unpacked it.
    init(_ data: Data, _ file: GIFFile, first: GIFFirstFrame? = nil, _ options: DecodeOptions) {
        let first = first ?? file.frames.first.flatMap { Self.unpacked($0, of: file, in: data, options) }
        isFirstWhole = first.map { $0.decoder.count >= file.frames[0].rect.size.pixelCount } ?? true
        self.first = Mutex(first)
        (self.data, self.file, self.options) = (data, file, options)
    }

    /// - Returns: `nil` for a frame that cannot be drawn.
    private static func unpacked(
        _ frame: GIFFile.Frame,
        of file: GIFFile,
        in data: Data,
        _ options: DecodeOptions
    ) -> GIFFirstFrame? {
        guard !frame.rect.size.isEmpty else { return nil }
        do throws(ImageError) {
            try file.check(frame, options)
            var decoder = try frame.makeDecoder(options)
            data.withUnsafeBytes { _ = decoder.decodeBlocks(of: $0, from: frame.offset + 1) }
            return GIFFirstFrame(decoder)
        } catch {
            return nil
        }
    }

    /// The layout of each frame. A frame outside the canvas draws nothing.
    var layouts: [FrameLayout] {
        file.frames.enumerated().map { index, frame in
            let rect = frame.rect.clipped(to: file.size)
            return FrameLayout(
                rect: rect ?? PixelRect(x: 0, y: 0, width: 0, height: 0),
                duration: frame.duration,
                disposal: rect == nil ? .keep : frame.disposal,
                isBlended: true,
                // Indices without a color are also transparent.
                hasAlpha: rect != frame.rect || frame.transparentColor != nil || index == 0 && !isFirstWhole
                    || (frame.colorTable?.count ?? 0) < 1 << min(frame.literalBits, 8)
            )
        }
    }

    func draw(_ index: Int, on canvas: FrameCanvas) throws(ImageError) {
        let frame = file.frames[index]
        guard !frame.rect.size.isEmpty else { return }
        try file.check(frame, options)
        if index == 0, let first = first.withLock({ $0.take() }), first.decoder.count > 0 {
            GIFPainter(frame, data).paint(first.decoder, on: canvas)
            return
        }
        var decoder = try frame.makeDecoder(options)
        data.withUnsafeBytes { _ = decoder.decodeBlocks(of: $0, from: frame.offset + 1) }
        // A frame without any codes shows nothing, as in browsers.
        guard decoder.count > 0 || !decoder.isDamaged else {
            throw options.badData("Frame \(index) of the GIF has no pixels")
        }
        GIFPainter(frame, data).paint(decoder, on: canvas)
        // As in browsers, a damaged first frame is shown partly, but an animation ends before another damaged frame.
        if index > 0, decoder.isDamaged { throw options.badData("Frame \(index) of the GIF is damaged") }
    }
}

/// The color indices of a first frame.
///
/// `@unchecked`: one thread at a time uses the object, first for unpacking, then for drawing.
final class GIFFirstFrame: @unchecked Sendable {
    var decoder: LZWDecoder

    init(_ decoder: consuming LZWDecoder) {
        self.decoder = decoder
    }
}

extension GIFFile.Frame {
    /// Makes a decoder for the color indices of the frame.
    func makeDecoder(_ options: DecodeOptions) throws(ImageError) -> LZWDecoder {
        guard LZWDecoder.literalBits.contains(literalBits) else {
            throw options.badData("A frame of the GIF has codes of an impossible length")
        }
        guard let decoder = LZWDecoder(literalBits: literalBits, pixelCount: rect.size.pixelCount) else {
            throw options.outOfMemory(rect.size)
        }
        return decoder
    }
}

extension LZWDecoder {
    /// Unpacks sub-blocks, up to an empty one.
    /// - Returns: The position of the first incomplete sub-block.
    @discardableResult
    mutating func decodeBlocks(of bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var offset = start
        while offset < bytes.count, bytes[offset] > 0 {
            let end = offset + 1 + Int(bytes[offset])
            guard end <= bytes.count else { return offset }
            decode(UnsafeRawBufferPointer(rebasing: bytes[offset + 1..<end]))
            offset = end
        }
        return offset
    }
}

/// Paints color indices with the colors of a frame.
struct GIFPainter {
    private let frame: GIFFile.Frame
    /// The packed colors; 0 is transparent.
    private let colors: [UInt32]
    /// Whether all 256 indices have opaque colors.
    private let isOpaque: Bool

    init(_ frame: GIFFile.Frame, _ data: Data) {
        self.frame = frame
        var colors = [UInt32](repeating: 0, count: 256)
        if let table = frame.colorTable {
            data.withUnsafeBytes { bytes in
                let count = min(table.count, max(0, bytes.count - table.offset) / 3)
                for index in 0..<count {
                    let color = table.offset + index * 3
                    colors[index] =
                        UInt32(bytes[color]) | UInt32(bytes[color + 1]) << 8 | UInt32(bytes[color + 2]) << 16
                        | 0xFF00_0000
                }
            }
        }
        if let transparent = frame.transparentColor { colors[Int(transparent)] = 0 }
        self.colors = colors
        isOpaque = !colors.contains(0)
    }

    /// Paints the unpacked rows. Transparent pixels do not change the canvas.
    /// - Parameters:
    ///   - start: The number of indices painted before.
    ///   - fillsGaps: Whether rows of an interlaced frame also fill the rows that have not arrived.
    func paint(_ decoder: borrowing LZWDecoder, on canvas: FrameCanvas, from start: Int = 0, fillsGaps: Bool = false) {
        guard let visible = frame.rect.clipped(to: canvas.size) else { return }
        let width = frame.rect.size.width
        colors.withUnsafeBufferPointer { colors in
            forEachRow(fillsGaps) { row, y in
                let top = frame.rect.y + y - visible.y
                guard top >= 0, top < visible.size.height, row * width < decoder.count,
                    (row + 1) * width > start
                else { return }
                // The coordinates of a frame are never negative.
                let numbers = decoder.output + row * width
                let count = min(visible.size.width, decoder.count - row * width)
                let target = canvas.row(top, of: visible)
                if isOpaque {
                    for x in 0..<count { target[x] = colors[Int(numbers[x])] }
                } else {
                    for x in 0..<count {
                        let color = colors[Int(numbers[x])]
                        if color != 0 { target[x] = color }
                    }
                }
            }
        }
    }

    /// The position in the image of each row of the file (appendix E).
    private func forEachRow(_ fillsGaps: Bool, _ body: (_ row: Int, _ y: Int) -> Void) {
        let height = frame.rect.size.height
        guard frame.isInterlaced else {
            for y in 0..<height { body(y, y) }
            return
        }
        var row = 0
        for (start, step, gap) in [(0, 8, 8), (4, 8, 4), (2, 4, 2), (1, 2, 1)] {
            for y in stride(from: start, to: height, by: step) {
                for filled in y..<min(y + (fillsGaps ? gap : 1), height) { body(row, filled) }
                row += 1
            }
        }
    }
}
