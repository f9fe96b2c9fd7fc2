internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// Reads one PNG file with libpng. It is valid only during a call of read(_:checksSums:_:_:).
struct PNGReader: ~Copyable {
    private let png: OpaquePointer
    private let options: DecodeOptions
    let size: PixelSize
    let hasAlpha: Bool

    /// - Parameter checksSums: Whether wrong checksums are an error.
    /// - Throws: The error of body, or ``ImageError/Code/badImageData`` when the header is damaged.
    static func read<R>(
        _ data: Data,
        checksSums: Bool = true,
        _ options: DecodeOptions,
        _ body: (borrowing PNGReader) throws(ImageError) -> R
    ) throws(ImageError) -> R {
        let result: Result<R, ImageError> = data.withUnsafeBytes { bytes in
            do throws(ImageError) {
                return .success(try body(try PNGReader(bytes, checksSums, options)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(_ bytes: UnsafeRawBufferPointer, _ checksSums: Bool, _ options: DecodeOptions) throws(ImageError) {
        guard let png = gwi_png_new(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, checksSums) else {
            throw options.badData("There is no memory to read a PNG")
        }
        var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
        guard gwi_png_read_header(png, &width, &height, &hasAlpha) else {
            defer { gwi_png_free(png) }
            throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))")
        }
        self.png = png
        self.options = options
        self.hasAlpha = hasAlpha
        size = PixelSize(width: Int(width), height: Int(height))
    }

    deinit {
        gwi_png_free(png)
    }

    /// The ICC profile; `nil` when there is none.
    var profile: Data? {
        var bytes: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        guard gwi_png_profile(png, &bytes, &count), let bytes else { return nil }
        return Data(bytes: bytes, count: Int(count))
    }

    /// Decodes the pixels, with premultiplied alpha. It can be called once. Chunks after the pixels are ignored.
    func pixels() throws(ImageError) -> PixelBuffer {
        let format: PixelBuffer.Format = hasAlpha ? .rgbaPremultiplied : .rgb
        var isRead = false
        let pixels = PixelBuffer(size: size, format: format) { memory in
            isRead = gwi_png_read_pixels(
                png,
                memory.bindMemory(to: UInt8.self).baseAddress,
                size.width * format.bytesPerPixel
            )
            if isRead, hasAlpha { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let pixels else { throw options.outOfMemory(size) }
        guard isRead else { throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))") }
        return pixels
    }
}
