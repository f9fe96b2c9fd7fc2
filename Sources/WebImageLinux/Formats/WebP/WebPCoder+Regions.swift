internal import CWebImageWebP
package import FoundationEssentials
package import WebImageCore

extension WebPCoder: RegionDecoding {
    /// A lossy file without alpha is decoded row by row. Lossless pixels, alpha and frames need memory for the whole image.
    package func decodesRegions(of data: Data) -> Bool {
        ImageHeader(reading: data, hint: .webp)?.workingByteCount == 0
    }

    package func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        // The limits are for what is decoded, and a WebP file has 2^28 pixels at most.
        var unlimited = options
        (unlimited.maximumPixelCount, unlimited.reservedPixelCount) = (.max, nil)
        let features = try WebPFeatures(data, unlimited)
        try region.check(in: features.size, options)
        if isCancelled() { throw .cancelled(options.url) }
        let stored = features.storedSize
        let wanted = region.rect.stored(features.turn, in: stored.divided(by: region.reduction))
        let isScaled = region.reduction > 1
        let rect = wanted.multiplied(by: region.reduction, in: stored)
        // Without scaling, the colours of a pixel depend on those beside it, and libwebp crops at even pixels.
        let around = isScaled ? rect : rect.widened(by: Self.margin, in: stored).beginningAtEvenPixels
        let size = isScaled ? wanted.size : around.size
        var status = VP8_STATUS_OK
        let decoded = PixelBuffer(size: size, format: features.hasAlpha ? .rgbaPremultiplied : .rgb) { memory in
            let bitmap = WebPBitmap(memory, size, hasAlpha: features.hasAlpha)
            status = data.withUnsafeBytes { bitmap.decode(around, of: $0, isScaled: isScaled) }
            if features.hasAlpha { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let decoded else { throw options.outOfMemory(size) }
        guard status == VP8_STATUS_OK else { throw options.badData(Self.describe(status)) }
        let inner =
            isScaled
            ? PixelRect(x: 0, y: 0, width: size.width, height: size.height)
            : PixelRect(x: rect.x - around.x, y: rect.y - around.y, width: rect.size.width, height: rect.size.height)
        guard let pixels = decoded.cropped(to: inner, orientation: features.turn) else {
            throw options.outOfMemory(wanted.size)
        }
        return WebImage(pixels: pixels, naturalSize: pixels.size, format: .webp, features.orientation, options)
            .converted(from: features.profile(of: data, options), options)
    }

    /// Pixels around a region that are decoded with it.
    private static let margin = 2
}

extension WebPBitmap {
    /// Decodes a part of a whole file, which fills the memory.
    fileprivate func decode(
        _ rect: PixelRect,
        of bytes: UnsafeRawBufferPointer,
        isScaled: Bool
    ) -> VP8StatusCode {
        var config = WebPDecoderConfig()
        guard configure(&config, isScaled: isScaled) else { return VP8_STATUS_INVALID_PARAM }
        defer { WebPFreeDecBuffer(&config.output) }
        config.options.use_cropping = 1
        config.options.crop_left = Int32(rect.x)
        config.options.crop_top = Int32(rect.y)
        config.options.crop_width = Int32(rect.size.width)
        config.options.crop_height = Int32(rect.size.height)
        return WebPDecode(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &config)
    }
}

extension PixelRect {
    fileprivate var beginningAtEvenPixels: PixelRect {
        PixelRect(x: x & ~1, y: y & ~1, width: size.width + (x & 1), height: size.height + (y & 1))
    }
}
