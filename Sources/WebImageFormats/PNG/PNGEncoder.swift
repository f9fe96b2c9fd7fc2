internal import CWebImageShims
package import FoundationEssentials
package import WebImageCore

/// Writes PNG with libpng. gdk-pixbuf would encode in another process where it uses glycin.
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
            ? pixels.withStraightAlpha { Self.encode($0, pixels) } ?? nil
            : pixels.withUnsafeBytes { Self.encode($0.bindMemory(to: UInt8.self), pixels) }
        guard let data else { throw .noMemory(toEncode: "a PNG of \(pixels.size) pixels") }
        return data
    }

    private static func encode(_ bytes: UnsafeBufferPointer<UInt8>, _ pixels: PixelBuffer) -> Data? {
        guard let start = bytes.baseAddress else { return nil }
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        let isWritten = gwi_png_write(
            start,
            UInt32(clamping: pixels.size.width),
            UInt32(clamping: pixels.size.height),
            pixels.bytesPerRow,
            pixels.hasAlpha,
            &data,
            &count
        )
        guard isWritten, let data else { return nil }
        return Data(bytesNoCopy: data, count: count, deallocator: .free)
    }
}
