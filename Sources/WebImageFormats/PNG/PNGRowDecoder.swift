internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// Decodes the default image of an arriving PNG file with libpng's progressive reader: row by row, or in seven passes, of which the
/// first shows the whole image coarsely.
final class PNGRowDecoder: IncrementalImageDecoding {
    private let reader: PNGReader
    private let options: DecodeOptions
    /// The beginning of the file, until its header is read.
    private var head = Data()
    private var header: ImageHeader?
    /// The pixels decoded so far, with straight alpha.
    private var canvas: UnsafeMutableRawPointer?
    private var layout = PixelRows.Layout.rgb
    private var profile: Data?
    private var shownCount: UInt64 = 0

    /// - Returns: `nil` if out of memory.
    init?(_ options: DecodeOptions) {
        guard let reader = try? PNGReader(options) else { return nil }
        self.reader = reader
        self.options = options
    }

    deinit { free(canvas) }

    func append(_ data: Data) throws(ImageError) {
        // Data after the pixels is irrelevant.
        guard !isDone else { return }
        if header == nil { head.append(data) }
        try reader.append(data)
        if header == nil { try begin() }
    }

    func partialImage() -> WebImage? {
        let progress = reader.progress
        guard let header, let rows, progress.count > shownCount else { return nil }
        shownCount = progress.count
        let target = header.turn.apply(to: options.size.target(for: header.size))
        let pixels = rows.resized(top: Int(progress.rows), to: target, orientation: header.turn)
        return pixels.map { pixels in
            WebImage(pixels: pixels, naturalSize: header.size, format: .png, header.orientation, options)
                .with { $0.isPartial = true }
                .converted(from: profile, options)
        }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        guard isDone, let header, let rows, let canvas else { throw reader.truncation }
        let format: PixelBuffer.Format = layout == .rgba ? .rgbaPremultiplied : .rgb
        let count = rows.bytesPerRow * rows.size.height
        if layout == .rgba { PixelBuffer.multiplyAlpha(in: UnsafeMutableRawBufferPointer(start: canvas, count: count)) }
        let decoded = PixelBuffer(adopting: canvas, size: header.storedSize, format: format)
        self.canvas = nil
        let target = header.turn.apply(to: options.size.target(for: header.size))
        let pixels = try decoded.resized(to: target, orientation: header.turn, options)
        return WebImage(pixels: pixels, naturalSize: header.size, format: .png, header.orientation, options)
            .converted(from: profile, options)
    }

    /// Whether all pixels have arrived.
    var isDone: Bool { reader.progress.is_done }

    /// Whether the channels of the file have 16 bits. This decoder keeps 8.
    var isDeep: Bool { reader.isDeep }

    /// The decoded pixels, valid while the decoder exists.
    private var rows: PixelRows? {
        guard let header, let canvas else { return nil }
        let size = header.storedSize
        return PixelRows(start: canvas, size: size, layout: layout)
    }

    /// Allocates the pixels once the header has arrived.
    private func begin() throws(ImageError) {
        guard let (size, hasAlpha) = reader.header else { return }
        try options.check(size)
        layout = hasAlpha ? .rgba : .rgb
        let stride = size.width * layout.bytesPerPixel
        canvas = calloc(size.height, stride)
        guard let canvas else { throw options.outOfMemory(size) }
        let orientation = ImageHeader(reading: head)?.orientation ?? .up
        header = ImageHeader(format: .png, storedSize: size, orientation: orientation).turned(by: options)
        profile = reader.profile(head)
        head = Data()
        try reader.setTarget(canvas, bytesPerRow: stride)
    }
}
