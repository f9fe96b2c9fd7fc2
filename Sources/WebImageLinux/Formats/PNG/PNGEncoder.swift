internal import CWebImageGLib
internal import CWebImagePixbuf
package import FoundationEssentials
package import WebImageCore

/// Writes PNG with gdk-pixbuf.
package struct PNGEncoder: ImageEncoding {
    package init() {}

    package func canEncode(_ format: ImageFormat) -> Bool { format == .png }

    package func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        let data =
            pixels.hasAlpha
            ? pixels.withStraightAlpha { Self.encode($0, pixels) }
            : pixels.withUnsafeBytes { Self.encode($0.bindMemory(to: UInt8.self), pixels) }
        guard let data else { throw .encodingFailed("gdk-pixbuf writes no PNG of \(pixels.size) pixels") }
        return data
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, _ pixels: PixelBuffer) -> Data? {
        guard let bytesPerRow = Int32(exactly: pixels.bytesPerRow) else { return nil }
        let pixbuf = gdk_pixbuf_new_from_data(
            bytes.baseAddress,
            GDK_COLORSPACE_RGB,
            pixels.hasAlpha ? 1 : 0,
            8,
            Int32(clamping: pixels.size.width),
            Int32(clamping: pixels.size.height),
            bytesPerRow,
            nil,
            nil
        )
        guard let pixbuf else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(pixbuf)) }
        var buffer: UnsafeMutablePointer<CChar>?
        var count: gsize = 0
        guard gdk_pixbuf_save_to_bufferv(pixbuf, &buffer, &count, "png", nil, nil, nil) != 0, let buffer else {
            return nil
        }
        defer { g_free(buffer) }
        return Data(bytes: buffer, count: Int(count))
    }
}
