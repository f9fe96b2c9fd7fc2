internal import CWebImageWebP
package import FoundationEssentials
package import WebImageCore

/// Decodes WebP with libwebp, still and animated, at the size asked for.
package struct WebPCoder: ImageDecoding {
    package init() {}

    package func canDecode(_ format: ImageFormat) -> Bool { format == .webp }

    package func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let features = try WebPFeatures(data, options)
        if features.isAnimated { return try animated(data, features, options) }
        let target = features.orientation.apply(to: options.size.target(for: features.size))
        let stored = features.orientation.apply(to: features.size)
        var status = VP8_STATUS_OK
        let decoded = PixelBuffer(size: target, format: features.hasAlpha ? .rgbaPremultiplied : .rgb) { memory in
            let mode = features.hasAlpha ? MODE_RGBA : MODE_RGB
            status = Self.decode(data, into: memory, size: target, mode: mode, isScaled: target != stored)
            // libwebp would do it, too, but does not round.
            if features.hasAlpha { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let decoded else { throw options.outOfMemory(target) }
        guard status == VP8_STATUS_OK else { throw options.badData(Self.describe(status)) }
        guard let upright = decoded.turned(features.orientation) else { throw options.outOfMemory(target) }
        return features.image(upright, options, of: data)
    }

    package func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? {
        WebPIncrementalDecoder(options)
    }

    private func animated(
        _ data: Data,
        _ features: WebPFeatures,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        guard let file = WebPFile(data, frameLimit: options.frameLimit) else {
            throw options.badData("The WebP animation ends in the middle of its first frame: it is truncated")
        }
        try options.check(file.size)
        let animation = AnimatedFile(
            WebPFrameSource(data, file, options),
            file.frames.map(\.layout),
            size: file.size,
            orientation: features.orientation,
            loopCount: file.loopCount,
            format: .webp,
            byteCount: data.count
        )
        return try animation.image(options).converted(from: features.profile(of: data, options))
    }

    private static func decode(
        _ data: Data,
        into memory: UnsafeMutableRawBufferPointer,
        size: PixelSize,
        mode: WEBP_CSP_MODE,
        isScaled: Bool
    ) -> VP8StatusCode {
        var config = WebPDecoderConfig()
        guard WebPInitDecoderConfig(&config) != 0 else { return VP8_STATUS_INVALID_PARAM }
        // Scaling to the same size would spread the colours in a coarser way.
        config.options.use_scaling = isScaled ? 1 : 0
        config.options.scaled_width = Int32(size.width)
        config.options.scaled_height = Int32(size.height)
        config.output.colorspace = mode
        config.output.is_external_memory = 1
        config.output.u.RGBA.rgba = memory.baseAddress?.assumingMemoryBound(to: UInt8.self)
        config.output.u.RGBA.stride = Int32(memory.count / size.height)
        config.output.u.RGBA.size = memory.count
        defer { WebPFreeDecBuffer(&config.output) }
        return data.withUnsafeBytes { WebPDecode($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &config) }
    }

    static func describe(_ status: VP8StatusCode) -> String {
        switch status {
        case VP8_STATUS_OUT_OF_MEMORY: "There is no memory for the WebP image"
        case VP8_STATUS_NOT_ENOUGH_DATA, VP8_STATUS_SUSPENDED: "The WebP file is truncated"
        case VP8_STATUS_UNSUPPORTED_FEATURE: "The WebP file uses a feature that libwebp does not know"
        default: "The WebP file is damaged"
        }
    }
}

/// What a WebP file is, from its header.
struct WebPFeatures {
    /// Upright.
    let size: PixelSize
    let orientation: ImageOrientation
    let hasAlpha: Bool
    let isAnimated: Bool

    init(_ data: Data, _ options: DecodeOptions) throws(ImageError) {
        var features = WebPBitstreamFeatures()
        let status = data.withUnsafeBytes {
            WebPGetFeatures($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &features)
        }
        guard status == VP8_STATUS_OK else { throw options.badData(WebPCoder.describe(status)) }
        orientation = ImageHeader(reading: data)?.orientation ?? .up
        size = orientation.apply(to: PixelSize(width: Int(features.width), height: Int(features.height)))
        hasAlpha = features.has_alpha != 0
        isAnimated = features.has_animation != 0
        try options.check(size)
    }

    /// What has come of an image.
    func partialImage(_ pixels: PixelBuffer, _ options: DecodeOptions) -> WebImage {
        WebImage(pixels: pixels, naturalSize: size, scale: options.scale, format: .webp, isPartial: true)
    }

    /// All of an image, its colours converted.
    func image(_ pixels: PixelBuffer, _ options: DecodeOptions, of data: Data) -> WebImage {
        WebImage(pixels: pixels, naturalSize: size, format: .webp, orientation, options)
            .converted(from: profile(of: data, options))
    }

    /// The colour profile that is to be converted from.
    func profile(of data: Data, _ options: DecodeOptions) -> Data? {
        options.convertsToSRGB ? EmbeddedProfile.read(data) : nil
    }
}
