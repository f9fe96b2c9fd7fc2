internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// Decodes the default image of a PNG file while it arrives, with libpng's progressive reader: row by row, or in seven
/// passes, the first of which shows the whole image coarsely.
///
/// @unchecked: one thread at a time uses a decoder, and libpng works on any thread.
final class PNGRowDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let png: OpaquePointer
    private let options: DecodeOptions
    /// The beginning of the file, until its header is read.
    private var head = Data()
    private var header: ImageHeader?
    /// The pixels decoded so far, with straight alpha.
    private var canvas: UnsafeMutableRawPointer?
    private var layout = PixelRows.Layout.rgb
    private var profile: Data?
    private var progress = gwi_png_progress()
    private var shownCount: UInt64 = 0

    /// - Returns: `nil` when there is no memory.
    init?(_ options: DecodeOptions) {
        guard let png = gwi_png_new_arriving() else { return nil }
        self.png = png
        self.options = options
    }

    deinit {
        gwi_png_free(png)
        free(canvas)
    }

    func append(_ data: Data) throws(ImageError) {
        // What follows the pixels does not matter.
        guard !progress.is_done else { return }
        if header == nil { head.append(data) }
        try data.withByteReader { bytes throws(ImageError) in try feed(bytes.bytes) }
        if header == nil, try begin() {
            // libpng has kept the bytes that follow the header.
            try feed(UnsafeRawBufferPointer(start: nil, count: 0))
        }
    }

    func partialImage() -> WebImage? {
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
        guard progress.is_done, let header, let rows, let canvas else {
            throw options.badData("The PNG ends before its pixels do: it is truncated")
        }
        let format: PixelBuffer.Format = layout == .rgba ? .rgbaPremultiplied : .rgb
        let count = rows.bytesPerRow * rows.size.height
        if layout == .rgba { PixelBuffer.multiplyAlpha(in: UnsafeMutableRawBufferPointer(start: canvas, count: count)) }
        let decoded = PixelBuffer(adopting: canvas, size: header.storedSize, format: format)
        self.canvas = nil
        let target = header.turn.apply(to: options.size.target(for: header.size))
        guard let pixels = decoded.resized(to: target, orientation: header.turn) else {
            throw options.outOfMemory(target)
        }
        return WebImage(pixels: pixels, naturalSize: header.size, format: .png, header.orientation, options)
            .converted(from: profile, options)
    }

    /// Whether the channels of the file have 16 bits, of which this decoder keeps 8.
    var isDeep: Bool { gwi_png_is_deep(png) }

    /// The pixels that were decoded, valid until the decoder ends.
    private var rows: PixelRows? {
        guard let header, let canvas else { return nil }
        let size = header.storedSize
        return PixelRows(start: canvas, size: size, bytesPerRow: size.width * layout.bytesPerPixel, layout: layout)
    }

    private func feed(_ bytes: UnsafeRawBufferPointer) throws(ImageError) {
        let isSound = gwi_png_append(png, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
        gwi_png_get_progress(png, &progress)
        guard isSound || progress.is_done else {
            throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))")
        }
    }

    /// Takes memory for the pixels once the header is there.
    /// - Returns: Whether it is.
    private func begin() throws(ImageError) -> Bool {
        var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
        guard gwi_png_header(png, &width, &height, &hasAlpha) else { return false }
        let size = PixelSize(width: Int(width), height: Int(height))
        try options.check(size)
        layout = hasAlpha ? .rgba : .rgb
        let stride = size.width * layout.bytesPerPixel
        canvas = calloc(size.height, stride)
        guard let canvas else { throw options.outOfMemory(size) }
        gwi_png_set_target(png, canvas.assumingMemoryBound(to: UInt8.self), stride)
        let orientation = ImageHeader(reading: head)?.orientation ?? .up
        header = ImageHeader(format: .png, storedSize: size, orientation: orientation).turned(by: options)
        head = Data()
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        if options.convertsToSRGB, gwi_png_profile(png, &bytes, &count), let bytes {
            profile = Data(bytes: bytes, count: Int(count))
        }
        return true
    }
}
