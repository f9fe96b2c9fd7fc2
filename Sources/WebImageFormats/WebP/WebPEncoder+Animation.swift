internal import CWebImageWebP
package import FoundationEssentials
package import WebImageCore

extension WebPEncoder {
    package func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data? {
        var settings = WebPAnimEncoderOptions()
        guard WebPAnimEncoderOptionsInit(&settings) != 0 else {
            throw .encodingFailed(
                "This libwebp is of another version than its headers",
                remedy: "Install the libwebp that the app was built with, or choose GIF or PNG."
            )
        }
        settings.anim_params.loop_count = Int32(min(max(animation.loopCount, 0), Self.mostLoops))
        settings.allow_mixed = options.isLossless ? 0 : 1
        let size = animation.size
        guard let encoder = WebPAnimEncoderNew(Int32(clamping: size.width), Int32(clamping: size.height), &settings)
        else {
            throw Self.hasRoom(for: size) ? .noMemory(toEncode: "a WebP of \(size) pixels") : Self.tooLarge(size)
        }
        defer { WebPAnimEncoderDelete(encoder) }
        var time = Duration.zero
        var frames = WrittenFrames(animation)
        while let (pixels, duration) = try frames.next() {
            try add(pixels, at: time, to: encoder, options)
            time += min(duration, Self.longestFrame)
        }
        guard WebPAnimEncoderAdd(encoder, nil, milliseconds(time), nil) != 0 else { throw Self.failure(encoder) }
        var output = WebPData()
        WebPDataInit(&output)
        defer { WebPFree(UnsafeMutablePointer(mutating: output.bytes)) }
        guard WebPAnimEncoderAssemble(encoder, &output) != 0, let bytes = output.bytes else {
            throw Self.failure(encoder)
        }
        return Data(bytes: bytes, count: output.size)
    }

    /// The file stores the number of loops in 16 bits and durations in 24 bits (RFC 9649, sections 2.7.1.1 and 2.7.1.2).
    private static let mostLoops = 65_535
    /// One less than fits in 24 bits, since times are rounded.
    private static let longestFrame = Duration.milliseconds((1 << 24) - 2)

    private func add(
        _ pixels: PixelBuffer,
        at time: Duration,
        to encoder: OpaquePointer,
        _ options: EncodeOptions
    ) throws(ImageError) {
        var config = WebPConfig()
        var picture = WebPPicture()
        guard Self.prepare(&config, &picture, pixels, options) else {
            throw .noMemory(toEncode: "a WebP of \(pixels.size) pixels")
        }
        defer { WebPPictureFree(&picture) }
        guard WebPAnimEncoderAdd(encoder, &picture, milliseconds(time), &config) != 0 else {
            throw Self.failure(encoder)
        }
    }

    private func milliseconds(_ time: Duration) -> Int32 { Int32(bounded: (time / .milliseconds(1)).rounded()) }

    private static func failure(_ encoder: OpaquePointer) -> ImageError {
        .encodingFailed(
            "libwebp: \(String(cString: WebPAnimEncoderGetError(encoder)))",
            remedy: "Encode a smaller size or fewer frames, or choose PNG."
        )
    }
}
