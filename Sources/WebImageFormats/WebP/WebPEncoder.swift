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
            throw .noMemory(toEncode: "a WebP of \(pixels.size) pixels")
        }
        defer { WebPPictureFree(&picture) }
        var writer = WebPMemoryWriter()
        WebPMemoryWriterInit(&writer)
        defer { WebPMemoryWriterClear(&writer) }
        picture.writer = WebPMemoryWrite
        // libwebp calls the hook every few rows.
        picture.progress_hook = { _, _ in Task.isCancelled ? 0 : 1 }
        let isWritten = withUnsafeMutablePointer(to: &writer) { writer in
            picture.custom_ptr = UnsafeMutableRawPointer(writer)
            return WebPEncode(&config, &picture) != 0
        }
        guard isWritten, let memory = writer.mem else {
            throw Self.failure(picture.error_code, pixels.size)
        }
        return Data(bytes: memory, count: writer.size)
    }

    /// The longest side of a file in pixels (RFC 9649, section 2.5).
    private static let longestSide = 16_383

    static func hasRoom(for size: PixelSize) -> Bool { max(size.width, size.height) <= longestSide }

    static func tooLarge(_ size: PixelSize) -> ImageError {
        .encodingFailed(
            "A WebP has at most \(longestSide) pixels to a side, and the image has \(size)",
            remedy: "Choose a smaller size, or PNG, which has no such limit."
        )
    }

    /// The error for an error code of libwebp and an image size.
    static func failure(_ code: WebPEncodingError, _ size: PixelSize) -> ImageError {
        switch code {
        case VP8_ENC_ERROR_USER_ABORT: .cancelled(nil)
        // libwebp reports no error if it lacks memory for some tables, and its writer fails only if out of memory.
        case VP8_ENC_OK, VP8_ENC_ERROR_OUT_OF_MEMORY, VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY, VP8_ENC_ERROR_BAD_WRITE:
            .noMemory(toEncode: "a WebP of \(size) pixels")
        case VP8_ENC_ERROR_BAD_DIMENSION: tooLarge(size)
        case VP8_ENC_ERROR_PARTITION0_OVERFLOW, VP8_ENC_ERROR_PARTITION_OVERFLOW, VP8_ENC_ERROR_FILE_TOO_BIG:
            .encodingFailed(
                "A WebP has no room for the details of this image of \(size) pixels",
                remedy: "Choose a lower quality, a smaller size or PNG."
            )
        default:
            .encodingFailed(
                "libwebp refuses the image of \(size) pixels (error \(code.rawValue))",
                remedy: "Leave EncodeOptions at its defaults, or choose another format."
            )
        }
    }

    /// Sets up the encoder and copies the pixels into a WebPPicture, which the caller frees.
    /// - Returns: `false` if out of memory.
    static func prepare(
        _ config: inout WebPConfig,
        _ picture: inout WebPPicture,
        _ pixels: PixelBuffer,
        _ options: EncodeOptions
    ) -> Bool {
        let quality = Float(options.quality * 100)
        guard WebPConfigPreset(&config, WEBP_PRESET_DEFAULT, quality) != 0, WebPPictureInit(&picture) != 0 else {
            return false
        }
        config.lossless = options.isLossless ? 1 : 0
        // Lossless files keep the exact colors of transparent pixels, which libwebp would otherwise change.
        config.exact = config.lossless
        config.method = Int32(min(max(options.webPEffort, 0), 6))
        // Only lossless encoding needs all colors. Otherwise, copying the pixels halves the resolution of colors.
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
        return pixels.withStraightAlpha { WebPPictureImportRGBA(&picture, $0.baseAddress, stride) != 0 } ?? false
    }
}
