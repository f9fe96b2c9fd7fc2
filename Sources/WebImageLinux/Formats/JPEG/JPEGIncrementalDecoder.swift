internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// A JPEG file that is still arriving, decoded with libjpeg as it comes.
///
/// @unchecked: a decoder is used by one thread at a time, and libjpeg does not mind which.
final class JPEGIncrementalDecoder: IncrementalImageDecoding, @unchecked Sendable {
    private let options: DecodeOptions
    private let jpeg: OpaquePointer
    /// The beginning of the file, until its header was read.
    private var head = Data()
    private var header: ImageHeader?
    /// The pixels so far.
    private var canvas: UnsafeMutablePointer<UInt8>?
    private var size = PixelSize(width: 0, height: 0)
    private var rowCount = 0
    private var shownRowCount = 0
    private var isWhole = false
    private var profile: Data?

    init?(_ options: DecodeOptions) {
        guard let jpeg = gwi_jpeg_new() else { return nil }
        self.jpeg = jpeg
        self.options = options
    }

    deinit {
        gwi_jpeg_free(jpeg)
        free(canvas)
    }

    func append(_ data: Data) throws(ImageError) {
        guard !isWhole else { return }
        let isTaken = data.withUnsafeBytes {
            gwi_jpeg_append(jpeg, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard isTaken else { throw options.badData("There is no memory for the JPEG") }
        if canvas == nil {
            head.append(data)
            try begin()
        }
        guard let canvas else { return }
        var rows: UInt32 = 0
        let step = gwi_jpeg_decode(jpeg, canvas, size.width * 3, &rows)
        rowCount = max(rowCount, Int(rows))
        try check(step)
        isWhole = step == GWI_JPEG_DONE
    }

    func partialImage() -> WebImage? {
        guard let canvas, let header else { return nil }
        if gwi_jpeg_show_scans(jpeg, canvas, size.width * 3) == GWI_JPEG_DONE {
            // All of it, coarse at first.
            (rowCount, shownRowCount) = (size.height, 0)
        }
        guard rowCount > shownRowCount else { return nil }
        shownRowCount = rowCount
        let pixels =
            rowCount < size.height
            ? PixelBuffer(top: rowCount, of: rows, orientation: header.orientation)
            : PixelBuffer(rows, orientation: header.orientation)
        return pixels.map { pixels in
            WebImage(pixels: pixels, naturalSize: header.size, format: .jpeg, header.orientation, options)
                .with { $0.isPartial = true }
                .converted(from: profile)
        }
    }

    func finish(_ data: Data) throws(ImageError) -> WebImage {
        guard data.withUnsafeBytes({ JPEGHeader.isComplete(ByteReader($0)) }), isWhole, let canvas, let header else {
            throw options.badData("The JPEG ends before its end marker: it is truncated")
        }
        let step = gwi_jpeg_show_scans(jpeg, canvas, size.width * 3)
        if step == GWI_JPEG_FAILED { try check(step) }
        let target = header.orientation.apply(to: options.size.target(for: header.size))
        let decoded = PixelBuffer(adopting: canvas, size: size, format: .rgb)
        self.canvas = nil
        guard let pixels = decoded.picture(at: target, header.orientation) else { throw options.outOfMemory(target) }
        return WebImage(pixels: pixels, naturalSize: header.size, format: .jpeg, header.orientation, options)
            .converted(from: profile)
    }

    private var rows: PixelRows {
        PixelRows(start: canvas!, size: size, bytesPerRow: size.width * 3, layout: .rgb)
    }

    private func begin() throws(ImageError) {
        var (width, height, isRGB) = (UInt32(0), UInt32(0), false)
        let step = gwi_jpeg_read_header(jpeg, &width, &height, &isRGB)
        try check(step)
        guard step == GWI_JPEG_DONE else { return }
        // Other colours are another decoder's, in one piece.
        guard isRGB else { throw options.badData("Parts of a JPEG in CMYK are not shown") }
        let stored = PixelSize(width: Int(width), height: Int(height))
        try options.check(stored)
        let orientation = ImageHeader(reading: head)?.orientation ?? .up
        let header = ImageHeader(format: .jpeg, storedSize: stored, orientation: orientation)
        self.header = header
        profile = options.convertsToSRGB ? EmbeddedProfile.read(head) : nil
        head = Data()
        let target = orientation.apply(to: options.size.target(for: header.size))
        gwi_jpeg_set_up(jpeg, UInt32(stored.divisor(for: target)), &width, &height)
        size = PixelSize(width: Int(width), height: Int(height))
        try options.check(size)
        canvas = malloc(size.width * size.height * 3)?.assumingMemoryBound(to: UInt8.self)
        guard canvas != nil else { throw options.outOfMemory(size) }
    }

    private func check(_ step: gwi_jpeg_step) throws(ImageError) {
        guard step == GWI_JPEG_FAILED else { return }
        throw options.badData("The JPEG is damaged (\(String(cString: gwi_jpeg_message(jpeg))))")
    }
}
