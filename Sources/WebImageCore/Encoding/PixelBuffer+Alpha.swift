extension PixelBuffer {
    /// The picture on a background, without alpha.
    /// - Parameter background: 0xRRGGBB.
    /// - Returns: `nil` when there is no memory.
    package func flattened(onto background: UInt32) -> PixelBuffer? {
        guard hasAlpha else { return self }
        let under = [UInt32(background >> 16 & 255), background >> 8 & 255, background & 255]
        return PixelBuffer(size: size, format: .rgb) { memory in
            withUnsafeBytes { pixels in
                var (source, target) = (0, 0)
                while source < pixels.count {
                    let missing = 255 - UInt32(pixels[source + 3])
                    for channel in 0..<3 {
                        // Colours are multiplied by alpha already.
                        let shown = (under[channel] * missing + 127) / 255
                        memory[target + channel] = UInt8(min(255, UInt32(pixels[source + channel]) + shown))
                    }
                    source += 4
                    target += 3
                }
            }
        }
    }

    /// Multiplies colours by alpha, pixel by pixel.
    package static func multiplyAlpha(in memory: UnsafeMutableRawBufferPointer) {
        for index in stride(from: 0, to: memory.count - 3, by: 4) {
            let alpha = UInt32(memory[index + 3])
            for channel in 0..<3 {
                memory[index + channel] = UInt8((UInt32(memory[index + channel]) * alpha + 127) / 255)
            }
        }
    }

    /// Red, green, blue and alpha, the colours no longer multiplied by it, as files have them.
    package func withStraightAlpha<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        withUnsafeBytes { pixels in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: pixels.count) { memory in
                for index in stride(from: 0, to: pixels.count, by: 4) {
                    let alpha = UInt32(pixels[index + 3])
                    for channel in 0..<3 {
                        let color = UInt32(pixels[index + channel])
                        memory[index + channel] = alpha == 0 ? 0 : UInt8(min(255, (color * 255 + alpha / 2) / alpha))
                    }
                    memory[index + 3] = UInt8(alpha)
                }
                return body(UnsafeBufferPointer(memory))
            }
        }
    }
}
