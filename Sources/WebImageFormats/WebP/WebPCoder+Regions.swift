internal import CWebImageWebP
import FoundationEssentials
import WebImageCore

extension WebPCoder {
    /// Whether the file is lossy without alpha, and is decoded row by row. Lossless pixels, alpha and frames need memory for the
    /// whole image.
    func decodesRegions(of data: Data) -> Bool {
        ImageHeader(reading: data, hint: .webp)?.workingByteCount == 0
    }

    func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        // The pixel limit applies to the region. A WebP file has at most 2^28 pixels.
        var unlimited = options
        (unlimited.maximumPixelCount, unlimited.reservedPixelCount) = (.max, nil)
        let features = try WebPFeatures(data, unlimited)
        try region.check(in: features.size, options)
        if isCancelled() { throw .cancelled(options.url) }
        let stored = features.storedSize
        let wanted = region.rect.stored(features.turn, in: stored.divided(by: region.reduction))
        let rect = wanted.multiplied(by: region.reduction, in: stored)
        let decoded =
            if region.reduction == 1 {
                try decode(rect, of: data, with: features, options)
            } else {
                try decode(rect, of: data, with: features, reducedTo: wanted.size, by: region.reduction, options)
            }
        guard let pixels = decoded.oriented(features.turn) else { throw options.outOfMemory(wanted.size) }
        return WebImage(pixels: pixels, naturalSize: pixels.size, format: .webp, features.orientation, options)
            .converted(from: features.profile(of: data, options), options)
    }

    private func decode(
        _ rect: PixelRect,
        of data: Data,
        with features: WebPFeatures,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        // The colors of a pixel depend on its neighbors, and libwebp crops at even pixels.
        let around = rect.widened(by: Self.margin, in: features.storedSize).beginningAtEvenPixels
        let decoded = try pixels(of: around.size, with: features, options) { bitmap in
            bitmap.decode(around, of: data, isScaled: false)
        }
        var inner = rect
        (inner.x, inner.y) = (rect.x - around.x, rect.y - around.y)
        guard let pixels = decoded.cropped(to: inner) else { throw options.outOfMemory(rect.size) }
        return pixels
    }

    private func decode(
        _ rect: PixelRect,
        of data: Data,
        with features: WebPFeatures,
        reducedTo size: PixelSize,
        by reduction: Int,
        _ options: DecodeOptions
    ) throws(ImageError) -> PixelBuffer {
        // libwebp would stretch a region that is not a multiple of the reduction, and shift its pixels against other tiles. So the
        // last column and row, which cover fewer pixels, repeat their neighbors.
        let whole = PixelSize(width: max(rect.size.width / reduction, 1), height: max(rect.size.height / reduction, 1))
        var source = rect
        source.size.width = min(whole.width * reduction, rect.size.width)
        source.size.height = min(whole.height * reduction, rect.size.height)
        return try pixels(of: size, with: features, options) { bitmap in
            let part = WebPBitmap(bitmap.start, whole, stride: bitmap.stride, hasAlpha: bitmap.hasAlpha)
            let status = part.decode(source, of: data, isScaled: true)
            bitmap.repeatEdges(of: whole)
            return status
        }
    }

    private func pixels(
        of size: PixelSize,
        with features: WebPFeatures,
        _ options: DecodeOptions,
        _ decode: (WebPBitmap) -> VP8StatusCode
    ) throws(ImageError) -> PixelBuffer {
        var status = VP8_STATUS_OK
        let decoded = PixelBuffer(size: size, format: features.hasAlpha ? .rgbaPremultiplied : .rgb) { memory in
            status = decode(WebPBitmap(memory, size, hasAlpha: features.hasAlpha))
            if features.hasAlpha { PixelBuffer.multiplyAlpha(in: memory) }
        }
        guard let decoded else { throw options.outOfMemory(size) }
        guard status == VP8_STATUS_OK else { throw options.badData(Self.describe(status)) }
        return decoded
    }

    /// The margin in pixels that is decoded around a region.
    private static let margin = 2
}

extension WebPBitmap {
    /// Decodes a part of a whole file so that it fills the memory.
    fileprivate func decode(_ rect: PixelRect, of data: Data, isScaled: Bool) -> VP8StatusCode {
        var config = WebPDecoderConfig()
        guard configure(&config, isScaled: isScaled) else { return VP8_STATUS_INVALID_PARAM }
        defer { WebPFreeDecBuffer(&config.output) }
        config.options.use_cropping = 1
        config.options.crop_left = Int32(rect.x)
        config.options.crop_top = Int32(rect.y)
        config.options.crop_width = Int32(rect.size.width)
        config.options.crop_height = Int32(rect.size.height)
        return data.withUnsafeBytes { bytes in
            WebPDecode(bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count, &config)
        }
    }

    /// Fills the pixels after the decoded part with its last column and row.
    fileprivate func repeatEdges(of part: PixelSize) {
        let count = hasAlpha ? 4 : 3
        if part.width < size.width {
            for row in 0..<part.height {
                let last = start + row * stride + (part.width - 1) * count
                (last + count).copyMemory(from: last, byteCount: count)
            }
        }
        if part.height < size.height {
            let last = start + (part.height - 1) * stride
            (last + stride).copyMemory(from: last, byteCount: stride)
        }
    }
}

extension PixelRect {
    fileprivate var beginningAtEvenPixels: PixelRect {
        PixelRect(x: x & ~1, y: y & ~1, width: size.width + (x & 1), height: size.height + (y & 1))
    }
}
