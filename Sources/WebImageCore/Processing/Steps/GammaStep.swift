import Glibc

/// Raises each color to a power.
struct GammaStep: PixelTransforming {
    let exponent: Double

    var key: String { "gamma(\(exponent))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        // A power of zero would make every color white, even black.
        let exponent = exponent.bounded(to: 0.001...1000, ifNaN: 1)
        let powers = (0...255).map { Float(pow(Double($0) / 255, exponent)) }
        let rounded = powers.map { UInt8($0 * 255 + 0.5) }
        let count = pixels.format.bytesPerPixel
        return PixelBuffer(size: pixels.size, format: pixels.format) { memory in
            let target = memory.bindMemory(to: UInt8.self).baseAddress!
            let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
            powers.withUnsafeBufferPointer { powers in
                rounded.withUnsafeBufferPointer { rounded in
                    for offset in stride(from: 0, to: memory.count, by: count) {
                        let alpha = count == 4 ? Int(source[offset + 3]) : 255
                        for channel in offset..<offset + 3 {
                            let color = Int(source[channel])
                            if alpha == 255 {
                                target[channel] = rounded[color]
                            } else {
                                // The power applies to the straight color, not the premultiplied one.
                                let straight = alpha == 0 ? 0 : min(255, (color * 255 + alpha / 2) / alpha)
                                target[channel] = UInt8(powers[straight] * Float(alpha) + 0.5)
                            }
                        }
                        if count == 4 { target[offset + 3] = source[offset + 3] }
                    }
                }
            }
        }
    }
}
