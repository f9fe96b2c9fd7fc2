internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// Reads one PNG file with libpng. It is valid only during a call of read(_:checksSums:_:_:).
struct PNGReader: ~Copyable {
    private let png: OpaquePointer
    private let options: DecodeOptions
    let size: PixelSize
    let hasAlpha: Bool
    /// sRGB, in 16 bits a channel if the file has them and they are kept.
    private let colors: PixelBuffer.Colors

    /// - Parameters:
    ///   - checksSums: Whether wrong checksums are an error.
    ///   - keepsDepth: Whether the pixels have 16 bits a channel if the file has them.
    /// - Throws: The error of body, or ``ImageError/Code/badImageData`` when the header is damaged.
    static func read<R>(
        _ data: Data,
        checksSums: Bool = true,
        keepsDepth: Bool = false,
        _ options: DecodeOptions,
        _ body: (borrowing PNGReader) throws(ImageError) -> R
    ) throws(ImageError) -> R {
        let result: Result<R, ImageError> = data.withUnsafeBytes { bytes in
            do throws(ImageError) {
                return .success(try body(try PNGReader(bytes, checksSums: checksSums, keepsDepth: keepsDepth, options)))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private init(
        _ bytes: UnsafeRawBufferPointer,
        checksSums: Bool,
        keepsDepth: Bool,
        _ options: DecodeOptions
    ) throws(ImageError) {
        guard let png = gwi_png_new(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, checksSums) else {
            throw options.badData("There is no memory to read a PNG")
        }
        if keepsDepth { gwi_png_keep_depth(png) }
        var (width, height, hasAlpha) = (UInt32(0), UInt32(0), false)
        guard gwi_png_read_header(png, &width, &height, &hasAlpha) else {
            defer { gwi_png_free(png) }
            throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))")
        }
        self.png = png
        self.options = options
        self.hasAlpha = hasAlpha
        colors = PixelBuffer.Colors(gamut: .sRGB, isDeep: keepsDepth && gwi_png_is_deep(png))
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
        if let memory = gwi_png_decode(png) {
            let count = size.pixelCount * format.bytesPerPixel
            if hasAlpha { PixelBuffer.multiplyAlpha(in: UnsafeMutableRawBufferPointer(start: memory, count: count)) }
            return PixelBuffer(adopting: memory, size: size, format: format)
        }
        var isRead = false
        let pixels = PixelBuffer(size: size, format: format, colors: colors) { memory in
            isRead = gwi_png_read_pixels(
                png,
                memory.bindMemory(to: UInt8.self).baseAddress,
                memory.count / size.height
            )
            guard isRead, hasAlpha else { return }
            if colors.isDeep {
                PixelBuffer.multiplyDeepAlpha(in: memory)
            } else {
                PixelBuffer.multiplyAlpha(in: memory)
            }
        }
        guard let pixels else { throw options.outOfMemory(size) }
        guard isRead else { throw options.badData("The PNG is damaged (\(String(cString: gwi_png_message(png))))") }
        return pixels
    }
}
