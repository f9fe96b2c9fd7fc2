internal import CWebImageWebP
package import FoundationEssentials
package import WebImageCore

/// Writes WebP with libwebp.
package struct WebPEncoder: ImageEncoding {
    package init() {}

    package func canEncode(_ format: ImageFormat) -> Bool { format == .webp }

    package func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data {
        var config = WebPConfig()
        var picture = WebPPicture()
        guard Self.prepare(&config, &picture, pixels, options) else {
            throw .encodingFailed("There is no memory for a WebP of \(pixels.size) pixels")
        }
        defer { WebPPictureFree(&picture) }
        var writer = WebPMemoryWriter()
        WebPMemoryWriterInit(&writer)
        defer { WebPMemoryWriterClear(&writer) }
        picture.writer = WebPMemoryWrite
        let isWritten = withUnsafeMutablePointer(to: &writer) { writer in
            picture.custom_ptr = UnsafeMutableRawPointer(writer)
            return WebPEncode(&config, &picture) != 0
        }
        guard isWritten, let memory = writer.mem else {
            throw .encodingFailed(
                "libwebp writes no image of \(pixels.size) pixels (error \(picture.error_code.rawValue))"
            )
        }
        return Data(bytes: memory, count: writer.size)
    }

    /// Sets up the encoder and copies the pixels into a WebPPicture, which the caller frees.
    /// - Returns: false when there is no memory.
    static func prepare(
        _ config: inout WebPConfig,
        _ picture: inout WebPPicture,
        _ pixels: PixelBuffer,
        _ options: EncodeOptions
    ) -> Bool {
        guard WebPConfigInit(&config) != 0, WebPPictureInit(&picture) != 0 else { return false }
        config.quality = Float(options.quality * 100)
        config.lossless = options.isLossless ? 1 : 0
        // Lossless files keep the colours of transparent pixels.
        config.exact = options.isLossless ? 1 : 0
        picture.use_argb = config.lossless
        picture.width = Int32(clamping: pixels.size.width)
        picture.height = Int32(clamping: pixels.size.height)
        let isFilled = fill(&picture, pixels)
        if !isFilled { WebPPictureFree(&picture) }
        return isFilled
    }

    private static func fill(_ picture: inout WebPPicture, _ pixels: PixelBuffer) -> Bool {
        guard let stride = Int32(exactly: pixels.bytesPerRow) else { return false }
        guard pixels.hasAlpha else {
            return pixels.withUnsafeBytes {
                WebPPictureImportRGB(&picture, $0.bindMemory(to: UInt8.self).baseAddress, stride) != 0
            }
        }
        return pixels.withStraightAlpha { WebPPictureImportRGBA(&picture, $0.baseAddress, stride) != 0 }
    }
}
