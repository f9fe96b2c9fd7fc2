package import FoundationEssentials
package import WebImageCore
import WebImageLinux

/// Noise, in which a pixel that is off by one shows, and which has colours that differ from pixel to pixel.
package enum NoiseImage {
    package static func make(_ size: PixelSize) -> WebImage {
        var generator = SeededGenerator(seed: 24)
        let pixels = PixelBuffer(size: size, format: .rgb) { memory in
            for index in memory.indices {
                let (x, y) = (index / 3 % size.width, index / 3 / size.width)
                memory[index] = UInt8(truncatingIfNeeded: x * 3 + y * 5 + index % 3 * 70 + Int(generator.next() & 63))
            }
        }
        return WebImage(pixels: pixels!)
    }

    package static func encoded(_ size: PixelSize, _ format: ImageFormat, quality: Double = 0.8) throws -> Data {
        var options = EncodeOptions()
        options.quality = quality
        return try make(size).data(as: format, options: options)
    }
}
