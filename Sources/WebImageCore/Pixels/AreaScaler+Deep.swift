// Images with more than eight bits a channel.
extension AreaScaler {
    /// Scales pixels with 16 bits a channel and premultiplied alpha, if any.
    /// - Parameters:
    ///   - size: The size to scale to, at least 1x1.
    ///   - target: Memory for the scaled pixels, row after row.
    static func scaleDeep(_ pixels: PixelBuffer, to size: PixelSize, into target: UnsafeMutablePointer<UInt16>) {
        let columns = Axis(from: pixels.size.width, to: size.width)
        let lines = Axis(from: pixels.size.height, to: size.height)
        let channels = pixels.format.bytesPerPixel
        let count = size.width * channels
        let source = pixels.baseAddress.assumingMemoryBound(to: UInt16.self)
        var row = [UInt32](repeating: 0, count: count)
        var sum = [UInt64](repeating: 0, count: count)
        var current = -1
        for y in 0..<size.height {
            for index in 0..<count { sum[index] = 0 }
            for offset in 0..<lines.count {
                let weight = UInt64(lines.weights[y * lines.count + offset])
                guard weight > 0 else { continue }
                if current != lines.first[y] + offset {
                    current = lines.first[y] + offset
                    let start = source + current * pixels.size.width * channels
                    narrowDeep(start, channels: channels, columns: columns, into: &row)
                }
                for index in 0..<count { sum[index] &+= UInt64(row[index]) &* weight }
            }
            let output = target + y * count
            for index in 0..<count { output[index] = UInt16(truncatingIfNeeded: (sum[index] &+ 1 << 23) >> 24) }
        }
    }

    /// Scales one row to its final width. Each value is multiplied by `unit`.
    private static func narrowDeep(
        _ source: UnsafePointer<UInt16>,
        channels: Int,
        columns: Axis,
        into output: inout [UInt32]
    ) {
        for x in 0..<output.count / channels {
            for channel in 0..<channels {
                var value = UInt32(0)
                for offset in 0..<columns.count {
                    let sample = source[(columns.first[x] + offset) * channels + channel]
                    value &+= UInt32(sample) &* columns.weights[x * columns.count + offset]
                }
                output[x * channels + channel] = value
            }
        }
    }
}
