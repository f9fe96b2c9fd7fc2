/// Scales images down: each pixel is the mean of the area that it covers, which neither blurs nor leaves anything
/// out; or up, by the mean of the nearest. One pass over the rows.
package struct AreaScaler {
    /// Which pixels, or rows, make up one of the smaller image, and how much of each. The weights of one add up to
    /// ``unit``.
    private struct Axis {
        let first: [Int]
        /// The same number for each; the last may be zero.
        let weights: [UInt32]
        let count: Int

        init(from source: Int, to target: Int) {
            let ratio = Double(source) / Double(target)
            guard ratio >= 1 else {
                (first, weights, count) = Self.enlarging(source, ratio, target)
                return
            }
            count = min(Int(ratio.rounded(.up)) + 1, source)
            var first: [Int] = []
            var weights: [UInt32] = []
            for index in 0..<target {
                let (start, end) = (Double(index) * ratio, Double(index + 1) * ratio)
                let origin = min(Int(start), source - count)
                var shares = (0..<count).map { offset -> UInt32 in
                    let low = max(start, Double(origin + offset))
                    let high = min(end, Double(origin + offset + 1))
                    return UInt32((max(0, high - low) / ratio * Double(AreaScaler.unit)).rounded())
                }
                // What rounding has left over goes to the largest share.
                let largest = shares.indices.max { shares[$0] < shares[$1] } ?? 0
                shares[largest] = shares[largest] &+ AreaScaler.unit &- shares.reduce(0, &+)
                first.append(origin)
                weights += shares
            }
            self.first = first
            self.weights = weights
        }

        /// Means of the two nearest.
        private static func enlarging(
            _ source: Int,
            _ ratio: Double,
            _ target: Int
        ) -> (first: [Int], weights: [UInt32], count: Int) {
            guard source > 1 else {
                return ([Int](repeating: 0, count: target), [UInt32](repeating: AreaScaler.unit, count: target), 1)
            }
            var first: [Int] = []
            var weights: [UInt32] = []
            for index in 0..<target {
                let middle = min(max((Double(index) + 0.5) * ratio - 0.5, 0), Double(source - 1))
                let origin = min(Int(middle), source - 2)
                let share = UInt32(((middle - Double(origin)) * Double(AreaScaler.unit)).rounded())
                first.append(origin)
                weights += [AreaScaler.unit - share, share]
            }
            return (first, weights, 2)
        }
    }

    /// 255 times this, twice over, just fits 32 bits.
    private static let unit: UInt32 = 4096

    /// Scales rows of red, green and blue, or of four channels in which alpha is multiplied in.
    /// - Parameters:
    ///   - size: At least 1x1.
    ///   - target: Room for the pixels, row after row.
    package static func scale(_ rows: PixelRows, to size: PixelSize, into target: UnsafeMutablePointer<UInt8>) {
        let columns = Axis(from: rows.size.width, to: size.width)
        let lines = Axis(from: rows.size.height, to: size.height)
        let channels = rows.layout.bytesPerPixel
        let count = size.width * channels
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count * 2) { memory in
            let (row, sum) = (memory.baseAddress!, memory.baseAddress! + count)
            var current = -1
            for y in 0..<size.height {
                sum.initialize(repeating: 0, count: count)
                for offset in 0..<lines.count {
                    let weight = lines.weights[y * lines.count + offset]
                    guard weight > 0 else { continue }
                    // The last row of one is often the first of the next.
                    if current != lines.first[y] + offset {
                        current = lines.first[y] + offset
                        let source = rows.start + current * rows.bytesPerRow
                        if channels == 3 {
                            narrow(source, columns, size.width, into: row)
                        } else {
                            narrowWithAlpha(source, columns, size.width, into: row)
                        }
                    }
                    for index in 0..<count { sum[index] &+= row[index] &* weight }
                }
                let output = target + y * count
                for index in 0..<count { output[index] = UInt8(truncatingIfNeeded: (sum[index] &+ 1 << 23) >> 24) }
            }
        }
    }

    /// One row, as narrow as it will be, each value times ``unit``.
    private static func narrow(
        _ row: UnsafeRawPointer,
        _ columns: Axis,
        _ width: Int,
        into output: UnsafeMutablePointer<UInt32>
    ) {
        let source = row.assumingMemoryBound(to: UInt8.self)
        let count = columns.count
        columns.first.withUnsafeBufferPointer { first in
            columns.weights.withUnsafeBufferPointer { weights in
                var (target, weight) = (output, weights.baseAddress!)
                for x in 0..<width {
                    var pixel = source + first[x] * 3
                    var (red, green, blue) = (UInt32(0), UInt32(0), UInt32(0))
                    for _ in 0..<count {
                        red &+= UInt32(pixel[0]) &* weight[0]
                        green &+= UInt32(pixel[1]) &* weight[0]
                        blue &+= UInt32(pixel[2]) &* weight[0]
                        pixel += 3
                        weight += 1
                    }
                    (target[0], target[1], target[2]) = (red, green, blue)
                    target += 3
                }
            }
        }
    }

    /// The same with four channels.
    private static func narrowWithAlpha(
        _ row: UnsafeRawPointer,
        _ columns: Axis,
        _ width: Int,
        into output: UnsafeMutablePointer<UInt32>
    ) {
        let source = row.assumingMemoryBound(to: UInt8.self)
        var target = output
        for x in 0..<width {
            var pixel = source + columns.first[x] * 4
            var (red, green, blue, alpha) = (UInt32(0), UInt32(0), UInt32(0), UInt32(0))
            for offset in 0..<columns.count {
                let weight = columns.weights[x * columns.count + offset]
                red &+= UInt32(pixel[0]) &* weight
                green &+= UInt32(pixel[1]) &* weight
                blue &+= UInt32(pixel[2]) &* weight
                alpha &+= UInt32(pixel[3]) &* weight
                pixel += 4
            }
            (target[0], target[1], target[2], target[3]) = (red, green, blue, alpha)
            target += 4
        }
    }
}
