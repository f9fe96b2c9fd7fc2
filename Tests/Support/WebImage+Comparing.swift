package import WebImageCore

extension WebImage {
    /// A pixel as 0xRRGGBB.
    package func color(_ x: Int, _ y: Int) -> Int {
        let offset = y * pixels.bytesPerRow + x * pixels.format.bytesPerPixel
        return pixels.withUnsafeBytes { Int($0[offset]) << 16 | Int($0[offset + 1]) << 8 | Int($0[offset + 2]) }
    }

    /// The mean difference of the channels, 0 to 255, between two images whose sizes may differ. Each pixel of the smaller
    /// image is compared with the mean of those that it stands for.
    package func difference(from other: WebImage) -> Double {
        let (large, small) = pixelSize.width >= other.pixelSize.width ? (self, other) : (other, self)
        let (size, from) = (small.pixelSize, large.pixelSize)
        var sum = 0.0
        for y in 0..<size.height {
            for x in 0..<size.width {
                let columns =
                    x * from.width
                    / size.width..<max(x * from.width / size.width + 1, (x + 1) * from.width / size.width)
                let rows =
                    y * from.height
                    / size.height..<max(y * from.height / size.height + 1, (y + 1) * from.height / size.height)
                let color = small.color(x, y)
                let mean = large.mean(columns, rows)
                for channel in 0..<3 { sum += abs(Double(color >> (16 - channel * 8) & 255) - mean[channel]) }
            }
        }
        return sum / Double(size.width * size.height * 3)
    }

    /// The largest difference of a channel from the same place of a whole image, 256 if the sizes or formats differ.
    package func largestDifference(from whole: WebImage, at rect: PixelRect) -> Int {
        let (part, whole) = (pixels, whole.pixels)
        let step = part.format.bytesPerPixel
        guard pixelSize == rect.size, part.format == whole.format else { return 256 }
        let count = rect.size.width * step
        var largest = 0
        part.withUnsafeBytes { part in
            whole.withUnsafeBytes { bytes in
                for row in 0..<rect.size.height {
                    let start = (rect.y + row) * whole.bytesPerRow + rect.x * step
                    for column in 0..<count {
                        largest = max(largest, abs(Int(part[row * count + column]) - Int(bytes[start + column])))
                    }
                }
            }
        }
        return largest
    }

    private func mean(_ columns: Range<Int>, _ rows: Range<Int>) -> [Double] {
        var sums = [0, 0, 0]
        for y in rows {
            for x in columns {
                let color = color(x, y)
                for channel in 0..<3 { sums[channel] += color >> (16 - channel * 8) & 255 }
            }
        }
        return sums.map { Double($0) / Double(columns.count * rows.count) }
    }
}

extension Int {
    /// Whether two 0xRRGGBB colours differ by no more than JPEG's loss.
    package func isClose(to other: Int) -> Bool {
        [16, 8, 0].allSatisfy { abs((self >> $0 & 255) - (other >> $0 & 255)) < 24 }
    }
}
