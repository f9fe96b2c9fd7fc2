extension AreaScaler {
    /// Scales down in both directions. It first adds the source rows of a target row, sixteen bytes at a time, then the pixels of
    /// the sum, because narrowing each source row first would work pixel by pixel.
    ///
    /// A sum of 20 bits is kept in 16. If the dropped bits could change a mean, it is computed again exactly.
    static func shrink(
        _ rows: PixelRows,
        to size: PixelSize,
        columns: Axis,
        lines: Axis,
        from first: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let count = rows.size.width * rows.layout.bytesPerPixel
        let channels = rows.layout == .rgbx ? 3 : rows.layout.bytesPerPixel
        // Even the last pixel is read as four numbers.
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: count + 4) { memory in
            let sums = memory.baseAddress!
            sums.advanced(by: count).initialize(repeating: 0, count: 4)
            for y in first..<max(first, size.height) {
                lines.weights.withUnsafeBufferPointer { weights in
                    let weights = UnsafeBufferPointer(rebasing: weights[y * lines.count..<(y + 1) * lines.count])
                    add(rows, from: lines.first[y], weights: weights, count: count, into: sums)
                }
                let output = target + y * size.width * channels
                let exact = ExactMean(rows: rows, columns: columns, lines: lines, y: y)
                // Constants known at compile time make the loop faster.
                switch (rows.layout.bytesPerPixel, channels) {
                case (3, _):
                    narrow(sums, step: 3, channels: 3, columns: columns, width: size.width, exact: exact, into: output)
                case (_, 3):
                    narrow(sums, step: 4, channels: 3, columns: columns, width: size.width, exact: exact, into: output)
                default:
                    narrow(sums, step: 4, channels: 4, columns: columns, width: size.width, exact: exact, into: output)
                }
            }
        }
    }

    /// Adds the bytes of consecutive rows by their weights. Each sum is multiplied by 256.
    private static func add(
        _ rows: PixelRows,
        from first: Int,
        weights: UnsafeBufferPointer<UInt32>,
        count: Int,
        into sums: UnsafeMutablePointer<UInt16>
    ) {
        let start = rows.start + first * rows.bytesPerRow
        // Rows without weight are not read.
        let rowCount = (weights.lastIndex { $0 > 0 } ?? 0) + 1
        var index = 0
        while index + 16 <= count {
            var (low, high) = (SIMD8<UInt32>(repeating: 8), SIMD8<UInt32>(repeating: 8))
            for row in 0..<rowCount {
                let bytes = start.loadUnaligned(fromByteOffset: row * rows.bytesPerRow + index, as: SIMD16<UInt8>.self)
                // The mask lets the compiler use the faster 16-bit multiplication.
                let weight = SIMD8<UInt32>(repeating: weights[row] & 0xFFFF)
                low &+= SIMD8<UInt32>(truncatingIfNeeded: bytes.lowHalf) &* weight
                high &+= SIMD8<UInt32>(truncatingIfNeeded: bytes.highHalf) &* weight
            }
            let sum = UnsafeMutableRawPointer(sums + index)
            sum.storeBytes(of: SIMD8<UInt16>(truncatingIfNeeded: low &>> 4), as: SIMD8<UInt16>.self)
            sum.storeBytes(of: SIMD8<UInt16>(truncatingIfNeeded: high &>> 4), toByteOffset: 16, as: SIMD8<UInt16>.self)
            index += 16
        }
        for index in index..<count {
            var sum = UInt32(8)
            for row in 0..<rowCount {
                let byte = start.load(fromByteOffset: row * rows.bytesPerRow + index, as: UInt8.self)
                sum &+= UInt32(byte) &* weights[row]
            }
            sums[index] = UInt16(truncatingIfNeeded: sum >> 4)
        }
    }

    /// Adds the pixels of consecutive columns by their weights, and writes the means.
    @inline(__always)
    private static func narrow(
        _ sums: UnsafePointer<UInt16>,
        step: Int,
        channels: Int,
        columns: Axis,
        width: Int,
        exact: ExactMean,
        into output: UnsafeMutablePointer<UInt8>
    ) {
        let count = columns.count
        columns.first.withUnsafeBufferPointer { first in
            columns.weights.withUnsafeBufferPointer { weights in
                var (output, weight) = (UnsafeMutableRawPointer(output), weights.baseAddress!)
                for x in 0..<width {
                    var pixel = UnsafeRawPointer(sums + first[x] * step)
                    var total = SIMD4<UInt32>(repeating: 1 << 19)
                    for _ in 0..<count {
                        // This is one load; loading a vector of four would be four loads.
                        let channels = unsafeBitCast(pixel.loadUnaligned(as: UInt64.self), to: SIMD4<UInt16>.self)
                        let weights = SIMD4<UInt32>(repeating: weight[0] & 0xFFFF)
                        total &+= SIMD4<UInt32>(truncatingIfNeeded: channels) &* weights
                        pixel += step * 2
                        weight += 1
                    }
                    var mean = unsafeBitCast(SIMD4<UInt8>(truncatingIfNeeded: total &>> 20), to: UInt32.self)
                    // Each sum is off by at most half of its last bit, so the total is off by at most 2048.
                    let isNearNext = ((total &+ 2048) & 0xFF000) .== 0
                    if any(isNearNext) { mean = exact.mean(x: x, channels: channels) }
                    if channels == 4 || x + 1 < width {
                        // The next pixel overwrites the fourth byte.
                        output.storeBytes(of: mean, as: UInt32.self)
                    } else {
                        output.storeBytes(of: UInt16(truncatingIfNeeded: mean), as: UInt16.self)
                        output.storeBytes(of: UInt8(truncatingIfNeeded: mean >> 16), toByteOffset: 2, as: UInt8.self)
                    }
                    output += channels
                }
            }
        }
    }
}

extension AreaScaler {
    /// Computes pixels of a target row one by one with 32 bits, without loss.
    private struct ExactMean {
        let rows: PixelRows
        let columns: Axis
        let lines: Axis
        let y: Int

        /// - Returns: The channels, with the first in the lowest byte.
        @inline(never)
        func mean(x: Int, channels: Int) -> UInt32 {
            let step = rows.layout.bytesPerPixel
            var totals = SIMD4<UInt32>(repeating: 1 << 23)
            for row in 0..<lines.count {
                let weight = lines.weights[y * lines.count + row]
                guard weight > 0 else { continue }
                var pixel = rows.start + (lines.first[y] + row) * rows.bytesPerRow + columns.first[x] * step
                var sum = SIMD4<UInt32>()
                for column in 0..<columns.count {
                    let weight = columns.weights[x * columns.count + column]
                    for channel in 0..<channels {
                        sum[channel] &+= UInt32(pixel.load(fromByteOffset: channel, as: UInt8.self)) &* weight
                    }
                    pixel += step
                }
                totals &+= sum &* weight
            }
            return unsafeBitCast(SIMD4<UInt8>(truncatingIfNeeded: totals &>> 24), to: UInt32.self)
        }
    }
}
