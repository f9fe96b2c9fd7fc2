/// Scales images in one pass over their rows. When scaling down, each pixel is the mean of the area that it covers, so no source
/// pixel is skipped. When scaling up, each pixel is the weighted mean of the nearest source pixels.
package struct AreaScaler {
    /// The source columns or rows of each target column or row, with weights that add up to ``unit``.
    struct Axis {
        let first: [Int]
        /// The weights of all targets: `count` for each, of which the last can be zero.
        let weights: [UInt32]
        let count: Int

        init(from source: Int, to target: Int) {
            let ratio = Double(source) / Double(target)
            guard ratio >= 1 else {
                (first, weights, count) = Self.enlarging(source, by: ratio, to: target)
                return
            }
            count = min(Int(ratio.rounded(.up)) + 1, source)
            var first: [Int] = []
            var weights: [UInt32] = []
            first.reserveCapacity(target)
            weights.reserveCapacity(target * count)
            for index in 0..<target {
                let start = Double(index) * ratio
                let origin = min(Int(start), source - count)
                // Each weight is the difference of two rounded shares of the area, so the weights add up at any ratio.
                var share = UInt32(0)
                for offset in 0..<count {
                    let covered = offset + 1 == count ? ratio : Double(origin + offset + 1) - start
                    let next = UInt32((min(max(covered, 0), ratio) / ratio * Double(AreaScaler.unit)).rounded())
                    weights.append(next - share)
                    share = next
                }
                first.append(origin)
            }
            self.first = first
            self.weights = weights
        }

        /// The weights of the two nearest pixels, for scaling up.
        private static func enlarging(
            _ source: Int,
            by ratio: Double,
            to target: Int
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

    /// The sum of the weights. 255 times its square just fits in 32 bits.
    static let unit: UInt32 = 4096

    /// Scales rows of three channels, or of four with premultiplied alpha. The unused byte of ``PixelRows/Layout/rgbx`` is dropped.
    /// - Parameters:
    ///   - size: The size to scale to, at least 1x1.
    ///   - first: The first row to write. Default: the top row.
    ///   - target: Memory for the scaled pixels, row after row from the top.
    package static func scale(
        _ rows: PixelRows,
        to size: PixelSize,
        from first: Int = 0,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        if let ratio = WholeRatio(from: rows.size, to: size) {
            return scale(rows, by: ratio, to: size, from: first, into: target)
        }
        let columns = Axis(from: rows.size.width, to: size.width)
        let lines = Axis(from: rows.size.height, to: size.height)
        if rows.size.width >= size.width, rows.size.height >= size.height {
            return shrink(rows, to: size, columns: columns, lines: lines, from: first, into: target)
        }
        let channels = rows.layout == .rgbx ? 3 : rows.layout.bytesPerPixel
        let count = size.width * channels
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count * 3) { memory in
            let sum = memory.baseAddress!
            // The last source row of a target row is often the first of the next. When scaling up, both rows often are.
            var kept = (-1, -1)
            func narrowed(_ number: Int) -> UnsafeMutablePointer<UInt32> {
                let row = sum + (number & 1 == 0 ? count : 2 * count)
                guard number != (number & 1 == 0 ? kept.0 : kept.1) else { return row }
                if number & 1 == 0 { kept.0 = number } else { kept.1 = number }
                let source = rows.start + number * rows.bytesPerRow
                // A constant known at compile time makes the loop faster.
                switch rows.layout {
                case .rgb: narrow(source, step: 3, columns, width: size.width, into: row)
                case .rgbx: narrow(source, step: 4, columns, width: size.width, into: row)
                case .rgba, .premultiplied: narrowWithAlpha(source, columns, width: size.width, into: row)
                }
                return row
            }
            for y in first..<max(first, size.height) {
                let output = target + y * count
                guard lines.count > 2 else {
                    // At most two rows need one pass over the target.
                    let number = lines.first[y]
                    let (one, other) = (narrowed(number), narrowed(number + lines.count - 1))
                    let weight = lines.weights[y * lines.count]
                    let otherWeight = lines.count > 1 ? lines.weights[y * 2 + 1] : 0
                    for index in 0..<count {
                        let value = one[index] &* weight &+ other[index] &* otherWeight
                        output[index] = UInt8(truncatingIfNeeded: (value &+ 1 << 23) >> 24)
                    }
                    continue
                }
                sum.initialize(repeating: 0, count: count)
                for offset in 0..<lines.count {
                    let weight = lines.weights[y * lines.count + offset]
                    guard weight > 0 else { continue }
                    let row = narrowed(lines.first[y] + offset)
                    for index in 0..<count { sum[index] &+= row[index] &* weight }
                }
                for index in 0..<count { output[index] = UInt8(truncatingIfNeeded: (sum[index] &+ 1 << 23) >> 24) }
            }
        }
    }

    /// Scales one row of three channels to its final width. Each value is multiplied by `unit`.
    /// - Parameter step: The bytes from one pixel to the next.
    @inline(__always)
    private static func narrow(
        _ row: UnsafeRawPointer,
        step: Int,
        _ columns: Axis,
        width: Int,
        into output: UnsafeMutablePointer<UInt32>
    ) {
        let source = row.assumingMemoryBound(to: UInt8.self)
        let count = columns.count
        columns.first.withUnsafeBufferPointer { first in
            columns.weights.withUnsafeBufferPointer { weights in
                var (target, weight) = (output, weights.baseAddress!)
                for x in 0..<width {
                    var pixel = source + first[x] * step
                    var (red, green, blue) = (UInt32(0), UInt32(0), UInt32(0))
                    for _ in 0..<count {
                        red &+= UInt32(pixel[0]) &* weight[0]
                        green &+= UInt32(pixel[1]) &* weight[0]
                        blue &+= UInt32(pixel[2]) &* weight[0]
                        pixel += step
                        weight += 1
                    }
                    (target[0], target[1], target[2]) = (red, green, blue)
                    target += 3
                }
            }
        }
    }

    /// Scales one row of four channels to its final width. Each value is multiplied by `unit`.
    private static func narrowWithAlpha(
        _ row: UnsafeRawPointer,
        _ columns: Axis,
        width: Int,
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

extension PixelRows {
    /// The upright image at another size.
    /// - Parameters:
    ///   - target: The size before orientation.
    ///   - orientation: The orientation to apply after scaling.
    /// - Returns: `nil` if out of memory.
    package func resized(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        guard target != size else { return PixelBuffer(self, orientation: orientation) }
        switch layout {
        case .rgb, .rgbx, .premultiplied:
            let format = layout == .premultiplied ? PixelBuffer.Format.rgbaPremultiplied : .rgb
            let small = PixelBuffer(size: target, format: format) { memory in
                AreaScaler.scale(self, to: target, into: memory.bindMemory(to: UInt8.self).baseAddress!)
            }
            return orientation == .up ? small : small?.oriented(orientation)
        case .rgba:
            // Means of colors must be weighted by alpha, as premultiplication does.
            return PixelBuffer(self, orientation: .up)?.resized(to: target, orientation: orientation)
        }
    }
}

extension PixelBuffer {
    /// The upright image at another size.
    /// - Returns: `nil` if out of memory.
    package func resized(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        if target == size, orientation == .up { return self }
        if colors != .standard { return resizedWide(to: target, orientation: orientation) }
        return withExtendedLifetime(self) { rows.resized(to: target, orientation: orientation) }
    }
}
