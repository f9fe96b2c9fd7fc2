package import FoundationEssentials
package import WebImageCore

extension JPEGCoder {
    /// Whether the file has one scan, which is decoded row by row. With several scans, as in a progressive file, the coefficients
    /// of the whole image are complete only at its end.
    package func decodesRegions(of data: Data) -> Bool {
        ImageHeader(reading: data, hint: .jpeg)?.workingByteCount == 0
    }

    package func decode(
        _ region: DecodeRegion,
        of data: Data,
        options: DecodeOptions,
        isCancelled: () -> Bool
    ) throws(ImageError) -> WebImage {
        let orientation = ImageHeader(reading: data, hint: .jpeg)?.orientation ?? .up
        let decode = RegionDecode(region: region, orientation: orientation, options: options)
        return try data.withByteReader { reader throws(ImageError) in
            try decode.image(of: reader.bytes, isCancelled: isCancelled)
        }
    }
}

/// One region of a JPEG.
private struct RegionDecode {
    let region: DecodeRegion
    let orientation: ImageOrientation
    let options: DecodeOptions

    func image(of bytes: UnsafeRawBufferPointer, isCancelled: () -> Bool) throws(ImageError) -> WebImage {
        guard var reader = JPEGReader(options) else { throw options.badData("There is no memory for the JPEG") }
        reader.setFile(bytes)
        guard let stored = try reader.readHeader() else { throw options.truncatedJPEG() }
        let turn = options.turn(orientation)
        try region.check(in: turn.apply(to: stored), options)
        let profile = reader.profile
        // The inverse DCT divides by at most 8. The scaler does the rest.
        let divisor = min(region.reduction, 8)
        let size = try reader.setUp(divisor: divisor)
        let wanted = region.rect.stored(turn, in: stored.divided(by: region.reduction))
        let rect = wanted.multiplied(by: region.reduction / divisor, in: size)
        try options.check(rect.size)
        // The colors of a pixel depend on its neighbors (h2v2_fancy_upsample of libjpeg).
        let around = rect.widened(by: Self.margin, in: size)
        let columns = try reader.startRegion(around.x..<around.x + around.size.width)
        try forEachBatch(of: around.y, until: isCancelled) { count throws(ImageError) in try reader.skipRows(count) }
        let band = PixelSize(width: columns.count, height: around.size.height)
        let decoded = try PixelBuffer(size: band, format: .rgb) { memory throws(ImageError) in
            var target = memory.bindMemory(to: UInt8.self).baseAddress!
            try forEachBatch(of: band.height, until: isCancelled) { count throws(ImageError) in
                try reader.readRows(count, into: target, stride: band.width * 3)
                target += count * band.width * 3
            }
        }
        guard let decoded else { throw options.outOfMemory(band) }
        var inner = rect
        (inner.x, inner.y) = (rect.x - columns.lowerBound, rect.y - around.y)
        let pixels = withExtendedLifetime(decoded) {
            decoded.rows(in: inner).resized(to: wanted.size, orientation: turn)
        }
        guard let pixels else { throw options.outOfMemory(wanted.size) }
        return WebImage(pixels: pixels, naturalSize: pixels.size, format: .jpeg, orientation, options)
            .converted(from: profile, options)
    }

    private func forEachBatch(
        of count: Int,
        until isCancelled: () -> Bool,
        _ body: (Int) throws(ImageError) -> Void
    ) throws(ImageError) {
        var left = count
        while left > 0 {
            if isCancelled() { throw .cancelled(options.url) }
            try body(min(left, Self.batch))
            left -= min(left, Self.batch)
        }
    }

    /// The margin in pixels that is decoded around a region.
    private static let margin = 32
    /// The rows between two checks for cancellation.
    private static let batch = 256
}
