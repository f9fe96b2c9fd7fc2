internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// Reads one JPEG file with libjpeg, whole or while it arrives.
struct JPEGReader: ~Copyable {
    private let jpeg: OpaquePointer
    private let options: DecodeOptions
    /// Retains the conversion that libjpeg calls for each row.
    private var inks: InkConversion?

    /// Makes a reader without a file; `nil` if out of memory.
    init?(_ options: DecodeOptions) {
        guard let jpeg = gwi_jpeg_new(options.convertsToSRGB) else { return nil }
        self.jpeg = jpeg
        self.options = options
    }

    deinit {
        gwi_jpeg_free(jpeg)
    }

    /// Reads a whole file, whose bytes must stay in place while the reader exists.
    func setFile(_ bytes: UnsafeRawBufferPointer) {
        gwi_jpeg_set_file(jpeg, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count)
    }

    /// Adds the next bytes of an arriving file.
    func append(_ data: Data) throws(ImageError) {
        let isTaken = data.withUnsafeBytes {
            gwi_jpeg_append(jpeg, $0.bindMemory(to: UInt8.self).baseAddress, $0.count)
        }
        guard isTaken else { throw options.badData("There is no memory for the JPEG") }
    }

    /// The stored size in pixels; `nil` until the header has arrived.
    func readHeader() throws(ImageError) -> PixelSize? {
        var (width, height) = (UInt32(0), UInt32(0))
        guard try isDone(gwi_jpeg_read_header(jpeg, &width, &height)) else { return nil }
        return PixelSize(width: Int(width), height: Int(height))
    }

    /// Whether the pixels cannot be read before the file is complete; known after the header.
    var needsWholeFile: Bool { gwi_jpeg_needs_whole_file(jpeg) }

    /// Whether libjpeg has found damage that shows as a smudge.
    var hasWarned: Bool { gwi_jpeg_has_warned(jpeg) }

    /// The ICC profile of the file, if the options convert colors; available from the header to the end of the file.
    var profile: Data? {
        var bytes: UnsafeMutablePointer<UInt8>?
        var count: UInt32 = 0
        guard options.convertsToSRGB, gwi_jpeg_copy_profile(jpeg, &bytes, &count), let bytes else { return nil }
        defer { free(bytes) }
        return Data(bytes: bytes, count: Int(count))
    }

    /// Sets the size at which to decode the file.
    /// - Parameters:
    ///   - divisor: The divisor of the size: 1, 2, 4 or 8.
    ///   - isFast: Whether to use a faster, less accurate inverse DCT.
    /// - Returns: The size of the decoded image in pixels.
    mutating func setUp(divisor: Int, isFast: Bool = false) throws(ImageError) -> PixelSize {
        if gwi_jpeg_is_cmyk(jpeg) { convertInks() }
        var (width, height) = (UInt32(0), UInt32(0))
        let setup = gwi_jpeg_setup(divisor: UInt32(divisor), is_fast: isFast)
        _ = try isDone(gwi_jpeg_set_up(jpeg, setup, &width, &height))
        return PixelSize(width: Int(width), height: Int(height))
    }

    private mutating func convertInks() {
        guard let inks = InkConversion.from(profile, options) else { return }
        self.inks = inks
        let convert: gwi_jpeg_convert = { inks, source, target, count in
            guard let inks, let source, let target else { return }
            Unmanaged<InkConversion>.fromOpaque(inks).takeUnretainedValue()
                .convert(source, into: target, count: Int(count))
        }
        gwi_jpeg_set_conversion(jpeg, convert, Unmanaged.passUnretained(inks).toOpaque())
    }

    /// Decodes the available bytes into rows of three bytes a pixel.
    /// - Returns: The number of decoded rows, and whether the file was read to its end.
    func decode(into target: UnsafeMutablePointer<UInt8>, width: Int) throws(ImageError) -> (rows: Int, isDone: Bool) {
        var rows: UInt32 = 0
        let isDone = try isDone(gwi_jpeg_decode(jpeg, target, width * 3, &rows))
        return (Int(rows), isDone)
    }

    /// Draws the complete scans of an arriving progressive file.
    /// - Returns: Whether there is a new scan.
    func drawScans(into target: UnsafeMutablePointer<UInt8>, width: Int) throws(ImageError) -> Bool {
        try isDone(gwi_jpeg_show_scans(jpeg, target, width * 3))
    }

    /// Begins to decode columns of the image, extended to the start of a block.
    func startRegion(_ columns: Range<Int>) throws(ImageError) -> Range<Int> {
        var (x, width) = (UInt32(columns.lowerBound), UInt32(columns.count))
        guard try isDone(gwi_jpeg_start_region(jpeg, &x, &width)) else { throw options.truncatedJPEG() }
        return Int(x)..<Int(x + width)
    }

    /// Skips the next rows of a region.
    func skipRows(_ count: Int) throws(ImageError) {
        guard try isDone(gwi_jpeg_skip_rows(jpeg, UInt32(count))) else { throw options.truncatedJPEG() }
    }

    /// Decodes the next rows of a region.
    func readRows(_ count: Int, into target: UnsafeMutablePointer<UInt8>, stride: Int) throws(ImageError) {
        guard try isDone(gwi_jpeg_read_rows(jpeg, target, stride, UInt32(count))) else { throw options.truncatedJPEG() }
    }

    private func isDone(_ step: gwi_jpeg_step) throws(ImageError) -> Bool {
        guard step != GWI_JPEG_FAILED else {
            throw options.badData("The JPEG is damaged (\(String(cString: gwi_jpeg_message(jpeg))))")
        }
        return step == GWI_JPEG_DONE
    }
}

extension DecodeOptions {
    /// The error for a JPEG that ends too early.
    func truncatedJPEG() -> ImageError { badData("The JPEG ends before its pixels do: it is truncated") }
}
