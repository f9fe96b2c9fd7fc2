internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

/// Decodes WebP with libwebp, still or animated, at the requested size.
struct WebPCoder: ExtendedDecoding {
    func canDecode(_ format: ImageFormat) -> Bool { format == .webp }

    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage {
        let features = try WebPFeatures(data, options)
        if features.isAnimated { return try animated(data, features, isArriving: false, arrival: nil, options) }
        let target = features.turn.apply(to: options.size.target(for: features.size))
        let size = features.bitmapSize(for: target)
        var status = VP8_STATUS_OK
        let decoded = PixelBuffer(size: size, format: features.hasAlpha ? .rgbaPremultiplied : .rgb) { memory in
            let bitmap = WebPBitmap(memory, size, hasAlpha: features.hasAlpha)
            status = data.withUnsafeBytes { bitmap.decode($0, isScaled: size != features.storedSize) }
            // libwebp can also premultiply, but does not round.
            if features.hasAlpha { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let decoded else { throw options.outOfMemory(size) }
        guard status == VP8_STATUS_OK else { throw options.badData(Self.describe(status)) }
        let upright = try decoded.resized(to: target, orientation: features.turn, options)
        return features.image(upright, options, profile: features.profile(of: data, options))
    }

    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)? {
        WebPIncrementalDecoder(options)
    }

    /// - Parameters:
    ///   - isArriving: Whether the file is still arriving, so that only available frames are shown.
    ///   - arrival: The state shared by all images of an arriving file.
    func animated(
        _ data: Data,
        _ features: WebPFeatures,
        isArriving: Bool,
        arrival: ArrivingAnimation?,
        _ options: DecodeOptions
    ) throws(ImageError) -> WebImage {
        guard let file = WebPFile(data, frameLimit: options.frameLimit) else {
            throw options.badData("The WebP animation ends in the middle of its first frame: it is truncated")
        }
        guard !file.isTruncated || isArriving || options.isFirstFrameOnly else {
            throw options.truncatedAnimation
        }
        try options.check(file.size)
        return try WebImage(
            animated: WebPFrameSource(data: data, file: file, options: options),
            layouts: file.frames.map(\.layout),
            size: file.size,
            orientation: features.orientation,
            loopCount: file.loopCount,
            format: .webp,
            data: data,
            isArriving: isArriving,
            arrival: arrival,
            options: options
        ).converted(from: features.profile(of: data, options), options)
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

/// The properties of a WebP file, from its header (WebP Container Specification).
struct WebPFeatures {
    /// The size in pixels after ``turn``.
    let size: PixelSize
    let orientation: ImageOrientation
    /// The orientation to apply.
    let turn: ImageOrientation
    let hasAlpha: Bool
    let isLossless: Bool
    let isAnimated: Bool
    /// Whether the header announces EXIF data.
    let hasEXIF: Bool

    init(_ data: Data, _ options: DecodeOptions) throws(ImageError) {
        var features = WebPBitstreamFeatures()
        let status = data.withUnsafeBytes {
            WebPGetFeatures($0.bindMemory(to: UInt8.self).baseAddress, $0.count, &features)
        }
        guard status == VP8_STATUS_OK else { throw options.badData(WebPCoder.describe(status)) }
        orientation = ImageHeader(reading: data)?.orientation ?? .up
        turn = options.turn(orientation)
        size = turn.apply(to: PixelSize(width: Int(features.width), height: Int(features.height)))
        hasAlpha = features.has_alpha != 0
        isLossless = features.format == 2
        isAnimated = features.has_animation != 0
        hasEXIF = data.withUnsafeBytes { raw in
            let bytes = ByteReader(raw)
            return bytes.matches("VP8X", at: 12) && bytes.uint8(20).map { $0 & 0x08 != 0 } == true
        }
        try options.check(size)
    }

    /// The size in pixels before orientation.
    var storedSize: PixelSize { turn.apply(to: size) }

    /// The size at which libwebp decodes. libwebp scales straight colors, so invisible ones would bleed into edges; images with
    /// alpha are therefore scaled after decoding. So are lossless images, which libwebp multiplies by their alpha even if the file
    /// declares it unused.
    func bitmapSize(for target: PixelSize) -> PixelSize { hasAlpha || isLossless ? storedSize : target }

    /// The image, converted to the colors of the options.
    func image(_ pixels: PixelBuffer, _ options: DecodeOptions, profile: Data?) -> WebImage {
        WebImage(pixels: pixels, naturalSize: size, format: .webp, orientation, options)
            .converted(from: profile, options)
    }

    /// The ICC profile of a file or of its part before the pixels, if the options convert colors.
    func profile(of data: Data, _ options: DecodeOptions) -> Data? {
        guard options.convertsToSRGB else { return nil }
        return data.withUnsafeBytes { bytes in
            var input = WebPData(bytes: bytes.bindMemory(to: UInt8.self).baseAddress, size: bytes.count)
            guard let demuxer = WebPDemuxPartial(&input, nil) else { return nil }
            defer { WebPDemuxDelete(demuxer) }
            var iterator = WebPChunkIterator()
            defer { WebPDemuxReleaseChunkIterator(&iterator) }
            guard WebPDemuxGetChunk(demuxer, "ICCP", 1, &iterator) != 0, let chunk = iterator.chunk.bytes else {
                return nil
            }
            return Data(bytes: chunk, count: iterator.chunk.size)
        }
    }
}

/// The memory into which libwebp decodes an image.
struct WebPBitmap {
    let start: UnsafeMutableRawPointer
    let size: PixelSize
    let stride: Int
    let hasAlpha: Bool

    /// Uses all memory of a buffer, row after row.
    init(_ memory: UnsafeMutableRawBufferPointer, _ size: PixelSize, hasAlpha: Bool) {
        self.init(memory.baseAddress!, size, stride: memory.count / size.height, hasAlpha: hasAlpha)
    }

    init(_ start: UnsafeMutableRawPointer, _ size: PixelSize, stride: Int, hasAlpha: Bool) {
        self.start = start
        self.size = size
        self.stride = stride
        self.hasAlpha = hasAlpha
    }

    /// Sets up a decoder that writes into the memory. The caller frees the output buffer of the configuration.
    /// - Parameter isScaled: Whether the image has another size. Scaling to the same size would blur colors.
    /// - Returns: Whether libwebp matches the version of its headers.
    func configure(_ config: inout WebPDecoderConfig, isScaled: Bool) -> Bool {
        guard WebPInitDecoderConfig(&config) != 0 else { return false }
        config.options.use_scaling = isScaled ? 1 : 0
        config.options.scaled_width = Int32(size.width)
        config.options.scaled_height = Int32(size.height)
        config.output.colorspace = hasAlpha ? MODE_RGBA : MODE_RGB
        config.output.is_external_memory = 1
        config.output.u.RGBA.rgba = start.assumingMemoryBound(to: UInt8.self)
        config.output.u.RGBA.stride = Int32(stride)
        config.output.u.RGBA.size = stride * (size.height - 1) + size.width * (hasAlpha ? 4 : 3)
        return true
    }

    /// Decodes a whole file, or the part of a file with a frame.
    func decode(_ bytes: UnsafeRawBufferPointer, isScaled: Bool = false) -> VP8StatusCode {
        var config = WebPDecoderConfig()
        guard configure(&config, isScaled: isScaled) else { return VP8_STATUS_INVALID_PARAM }
        defer { WebPFreeDecBuffer(&config.output) }
        return WebPDecode(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &config)
    }
}
