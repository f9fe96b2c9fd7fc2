/// Blurs with three box filters, which approximate a Gaussian to within 3 % (SVG 1.1, feGaussianBlur). Pixels outside the image
/// repeat the nearest edge pixel.
struct BlurStep: PixelTransforming {
    /// The standard deviation in application pixels.
    let radius: Double
    private static let largestDeviation = 4096.0

    var key: String { "blur(\(radius))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        // The windows of a wider blur cover whole images, so it would only cost time.
        let deviation = (radius * scale).bounded(to: 0...Self.largestDeviation, ifNaN: 0)
        guard deviation >= 0.5 else { return pixels }
        // Odd widths do not shift the image. The variance of a box is (width² - 1) / 12, and the three variances add up to the
        // requested variance.
        let ideal = (4 * deviation * deviation + 1).squareRoot()
        let narrow = max(1, Int(ideal) % 2 == 0 ? Int(ideal) - 1 : Int(ideal))
        let missing = 12 * deviation * deviation - Double(3 * (narrow * narrow - 1))
        let wideCount = Int((missing / Double(4 * narrow + 4)).rounded())
        var blurred = pixels
        for pass in 0..<3 {
            guard let next = blurred.mean(of: narrow / 2 + (pass < wideCount ? 1 : 0)) else { return nil }
            blurred = next
        }
        return blurred
    }
}

extension PixelBuffer {
    /// The image whose pixels are the means of all pixels within `reach`.
    fileprivate func mean(of reach: Int) -> PixelBuffer? {
        let (width, height, channels) = (size.width, size.height, format.bytesPerPixel)
        let count = width * channels
        // Blurred rows enter and leave the sum as the window moves down.
        guard let narrow = PixelBuffer(size: size, format: format, fill: { narrowRows(reach, into: $0) }) else {
            return nil
        }
        let window = UInt32(reach * 2 + 1)
        let factor = (UInt32(1) << 24) / window
        return PixelBuffer(size: size, format: format) { memory in
            let source = narrow.baseAddress.assumingMemoryBound(to: UInt8.self)
            var target = memory.bindMemory(to: UInt8.self).baseAddress!
            withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count) { sums in
                let sums = sums.baseAddress!
                for index in 0..<count { sums[index] = UInt32(source[index]) &* UInt32(reach + 1) }
                for y in 1...max(reach, 1) where reach > 0 {
                    let row = source + min(y, height - 1) * count
                    for index in 0..<count { sums[index] &+= UInt32(row[index]) }
                }
                for y in 0..<height {
                    let leaving = source + max(y - reach, 0) * count
                    let coming = source + min(y + reach + 1, height - 1) * count
                    for index in 0..<count {
                        target[index] = UInt8(truncatingIfNeeded: (sums[index] &* factor &+ 1 << 23) >> 24)
                        sums[index] = sums[index] &+ UInt32(coming[index]) &- UInt32(leaving[index])
                    }
                    target += count
                }
            }
        }
    }

    /// Replaces each pixel of a row by the mean of its neighbors in the row.
    private func narrowRows(_ reach: Int, into memory: UnsafeMutableRawBufferPointer) {
        let (width, channels) = (size.width, format.bytesPerPixel)
        let window = UInt32(reach * 2 + 1)
        let factor = (UInt32(1) << 24) / window
        var source = baseAddress.assumingMemoryBound(to: UInt8.self)
        var target = memory.bindMemory(to: UInt8.self).baseAddress!
        @inline(__always) func load(_ x: Int) -> SIMD4<UInt32> {
            let pixel = source + x * channels
            return SIMD4(UInt32(pixel[0]), UInt32(pixel[1]), UInt32(pixel[2]), channels == 4 ? UInt32(pixel[3]) : 0)
        }
        for _ in 0..<size.height {
            var sum = load(0) &* SIMD4(repeating: UInt32(reach + 1))
            for x in 1...max(reach, 1) where reach > 0 { sum &+= load(min(x, width - 1)) }
            for x in 0..<width {
                let mean = (sum &* factor &+ (1 << 23)) &>> 24
                target[x * channels] = UInt8(truncatingIfNeeded: mean.x)
                target[x * channels + 1] = UInt8(truncatingIfNeeded: mean.y)
                target[x * channels + 2] = UInt8(truncatingIfNeeded: mean.z)
                if channels == 4 { target[x * channels + 3] = UInt8(truncatingIfNeeded: mean.w) }
                sum = sum &+ load(min(x + reach + 1, width - 1)) &- load(max(x - reach, 0))
            }
            source += width * channels
            target += width * channels
        }
    }
}
