extension WebImage {
    /// The most frequent colors, for example for a background or an accent that matches the image. Similar colors count as one.
    ///
    /// The first frame of an animation counts. The function looks at 64x64 pixels, after wide colors were converted, on any thread. Colors
    /// that are about as frequent may change places between an image and its smaller version from a cache.
    /// - Parameter count: The largest number of colors. Default: 3.
    /// - Returns: Opaque colors, the most frequent first: fewer if the image has fewer, none if less than half of each pixel is opaque.
    public func dominantColors(count: Int = 3) -> [ImageColor] {
        let pixels = pixels
        var bins = [ColorSum](repeating: ColorSum(), count: 1 << 12)
        pixels.withUnsafeBytes { bytes in
            let (width, height) = (pixels.size.width, pixels.size.height)
            for y in Self.samples(of: height) {
                for x in Self.samples(of: width) {
                    let rgba = pixels.rgba(at: y * pixels.bytesPerRow + x * pixels.bytesPerPixel, in: bytes)
                    guard rgba & 255 >= 128 else { continue }
                    let color = SIMD3(Int(rgba >> 24), Int(rgba >> 16 & 255), Int(rgba >> 8 & 255))
                    // Four bits of each channel.
                    let bin = color / 16
                    bins[bin[0] * 256 + bin[1] * 16 + bin[2]].add(ColorSum(sum: color, count: 1))
                }
            }
        }
        // Bins with equal counts keep their order, so that the result depends on nothing but the pixels.
        let order = bins.indices.filter { bins[$0].count > 0 }.sorted { (bins[$1].count, $0) < (bins[$0].count, $1) }
        var groups: [ColorSum] = []
        for bin in order.map({ bins[$0] }) {
            if let near = groups.firstIndex(where: { $0.isSimilar(to: bin) }) {
                groups[near].add(bin)
            } else {
                groups.append(bin)
            }
        }
        let largest = groups.indices.sorted { (groups[$1].count, $0) < (groups[$0].count, $1) }
        return largest.prefix(max(count, 0)).map { groups[$0].color }
    }

    /// Positions in the middles of equal parts of a length, which are at most 64.
    private static func samples(of length: Int) -> some Sequence<Int> {
        let count = min(length, 64)
        return (0..<count).lazy.map { ($0 * 2 + 1) * length / (count * 2) }
    }
}

/// Colors that are counted together.
private struct ColorSum {
    /// The sums of red, green and blue.
    var sum = SIMD3<Int>.zero
    var count = 0

    mutating func add(_ other: ColorSum) { (sum, count) = (sum &+ other.sum, count + other.count) }

    private var mean: SIMD3<Int> { (sum &+ count / 2) / SIMD3(repeating: count) }

    var color: ImageColor { ImageColor(UInt32(mean[0] << 16 | mean[1] << 8 | mean[2])) }

    /// Whether the means are less than three bins apart.
    func isSimilar(to other: ColorSum) -> Bool {
        let difference = mean &- other.mean
        return (difference &* difference).wrappedSum() < 48 * 48
    }
}
