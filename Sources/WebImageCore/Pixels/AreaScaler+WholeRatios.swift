extension AreaScaler {
    /// The number of source columns and rows of a target pixel, if both are whole, as for an animation shown at half or a third of
    /// its size. Sums without weights are several times as fast.
    struct WholeRatio {
        let columns: Int
        let rows: Int

        /// - Returns: `nil` for other ratios, and for areas whose sums need wider numbers.
        init?(from source: PixelSize, to target: PixelSize) {
            guard source.width % target.width == 0, source.height % target.height == 0 else { return nil }
            (columns, rows) = (source.width / target.width, source.height / target.height)
            // The sum of 255 bytes fits in 16 bits.
            guard columns * rows > 1, columns * rows <= 4096, rows <= 255 else { return nil }
        }

        /// Multiplies a sum so that its mean is in the upper eight of 32 bits. Rounding down avoids overflow and changes the mean
        /// by less than a tenth of a level.
        var reciprocal: UInt32 { UInt32((1 << 24) / (columns * rows)) }
    }

    /// Scales down by a whole number. It first adds the bytes of the rows, sixteen at a time, then the pixels of the sum.
    static func scale(
        _ rows: PixelRows,
        by ratio: WholeRatio,
        to size: PixelSize,
        from first: Int,
        into target: UnsafeMutablePointer<UInt8>
    ) {
        let count = rows.size.width * rows.layout.bytesPerPixel
        let channels = rows.layout == .rgbx ? 3 : rows.layout.bytesPerPixel
        withUnsafeTemporaryAllocation(of: UInt16.self, capacity: count) { memory in
            let sums = memory.baseAddress!
            for y in first..<max(first, size.height) {
                let start = rows.start + y * ratio.rows * rows.bytesPerRow
                add(rows: ratio.rows, of: count, at: start, bytesPerRow: rows.bytesPerRow, into: sums)
                let output = target + y * size.width * channels
                // Constants known at compile time make the loop faster.
                switch (rows.layout.bytesPerPixel, channels) {
                case (3, _): narrow(sums, step: 3, channels: 3, ratio, width: size.width, into: output)
                case (_, 3): narrow(sums, step: 4, channels: 3, ratio, width: size.width, into: output)
                default: narrow(sums, step: 4, channels: 4, ratio, width: size.width, into: output)
                }
            }
        }
    }

    /// Adds the bytes of consecutive rows.
    private static func add(
        rows rowCount: Int,
        of count: Int,
        at start: UnsafeRawPointer,
        bytesPerRow: Int,
        into sums: UnsafeMutablePointer<UInt16>
    ) {
        var index = 0
        while index + 16 <= count {
            var sum = SIMD16<UInt16>()
            for row in 0..<rowCount {
                let bytes = start.loadUnaligned(fromByteOffset: row * bytesPerRow + index, as: SIMD16<UInt8>.self)
                sum &+= SIMD16<UInt16>(truncatingIfNeeded: bytes)
            }
            UnsafeMutableRawPointer(sums + index).storeBytes(of: sum, as: SIMD16<UInt16>.self)
            index += 16
        }
        for index in index..<count {
            var sum = UInt16(0)
            for row in 0..<rowCount {
                sum &+= UInt16(start.load(fromByteOffset: row * bytesPerRow + index, as: UInt8.self))
            }
            sums[index] = sum
        }
    }

    /// Adds the pixels of consecutive columns, and writes the means.
    @inline(__always)
    private static func narrow(
        _ sums: UnsafePointer<UInt16>,
        step: Int,
        channels: Int,
        _ ratio: WholeRatio,
        width: Int,
        into output: UnsafeMutablePointer<UInt8>
    ) {
        let reciprocal = ratio.reciprocal
        var (pixel, output) = (sums, output)
        for _ in 0..<width {
            var (red, green, blue, alpha) = (UInt32(0), UInt32(0), UInt32(0), UInt32(0))
            for _ in 0..<ratio.columns {
                red &+= UInt32(pixel[0])
                green &+= UInt32(pixel[1])
                blue &+= UInt32(pixel[2])
                if channels == 4 { alpha &+= UInt32(pixel[3]) }
                pixel += step
            }
            output[0] = UInt8(truncatingIfNeeded: (red &* reciprocal &+ 1 << 23) >> 24)
            output[1] = UInt8(truncatingIfNeeded: (green &* reciprocal &+ 1 << 23) >> 24)
            output[2] = UInt8(truncatingIfNeeded: (blue &* reciprocal &+ 1 << 23) >> 24)
            if channels == 4 { output[3] = UInt8(truncatingIfNeeded: (alpha &* reciprocal &+ 1 << 23) >> 24) }
            output += channels
        }
    }
}
