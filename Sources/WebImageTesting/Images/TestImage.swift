internal import CWebImageGLib
internal import CWebImagePixbuf
public import FoundationEssentials
import Glibc
public import WebImageCore

/// Image files generated for tests, in one color or with a pattern that a test can recognize.
public enum TestImage {
    /// A file format that gdk-pixbuf can write.
    public enum Format: String, Sendable {
        /// PNG.
        case png
        /// JPEG at quality 95.
        case jpeg
        /// Windows bitmap.
        case bmp
        /// TIFF.
        case tiff
    }

    /// Creates an image filled with one color.
    /// - Parameters:
    ///   - color: The color as 0xRRGGBB.
    ///   - size: Width and height in pixels.
    ///   - format: The file format. Default: PNG.
    public static func solid(_ color: UInt32, size: PixelSize, format: Format = .png) -> Data {
        make(size: size, format: format) { _, _ in color }
    }

    /// Creates an image with a red (top left), green (top right), blue (bottom left) and white quarter.
    public static func quarters(size: PixelSize, format: Format = .png) -> Data {
        make(size: size, format: format) { x, y in
            switch (x * 2 < size.width, y * 2 < size.height) {
            case (true, true): 0xFF0000
            case (false, true): 0x00FF00
            case (true, false): 0x0000FF
            case (false, false): 0xFFFFFF
            }
        }
    }

    /// Creates an image from a closure that returns the color at (x, y) as 0xRRGGBB. The origin is the top left.
    public static func make(size: PixelSize, format: Format = .png, color: (Int, Int) -> UInt32) -> Data {
        let pixbuf = gdk_pixbuf_new(GDK_COLORSPACE_RGB, 0, 8, Int32(size.width), Int32(size.height))!
        defer { g_object_unref(UnsafeMutableRawPointer(pixbuf)) }
        let start = gdk_pixbuf_get_pixels(pixbuf)!
        let stride = Int(gdk_pixbuf_get_rowstride(pixbuf))
        for y in 0..<size.height {
            for x in 0..<size.width {
                let value = color(x, y)
                let pixel = start + y * stride + x * 3
                pixel[0] = UInt8(value >> 16 & 255)
                pixel[1] = UInt8(value >> 8 & 255)
                pixel[2] = UInt8(value & 255)
            }
        }
        return encode(pixbuf, format)
    }

    private static func encode(_ pixbuf: OpaquePointer, _ format: Format) -> Data {
        var buffer: UnsafeMutablePointer<CChar>?
        var count: gsize = 0
        let isJPEG = format == .jpeg
        let key = strdup("quality")
        let value = strdup("95")
        defer {
            free(key)
            free(value)
        }
        var keys = isJPEG ? [key, nil] : [nil]
        var values = isJPEG ? [value, nil] : [nil]
        let isSaved = gdk_pixbuf_save_to_bufferv(pixbuf, &buffer, &count, format.rawValue, &keys, &values, nil)
        precondition(isSaved != 0, "gdk-pixbuf cannot write \(format.rawValue)")
        defer { g_free(buffer) }
        return Data(bytes: buffer!, count: Int(count))
    }
}
