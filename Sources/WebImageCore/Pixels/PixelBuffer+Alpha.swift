import Glibc

extension PixelBuffer {
    /// The image on an opaque background, without alpha.
    /// - Parameter background: The color; its alpha is ignored.
    /// - Returns: `nil` if out of memory.
    package func flattened(onto background: ImageColor) -> PixelBuffer? {
        guard hasAlpha else { return self }
        let under = [24, 16, 8].map { background.rgba >> $0 & 255 }
        return PixelBuffer(size: size, format: .rgb) { memory in
            withUnsafeBytes { pixels in
                var (source, target) = (0, 0)
                while source < pixels.count {
                    let missing = 255 - UInt32(pixels[source + 3])
                    for channel in 0..<3 {
                        // The colors are premultiplied.
                        let shown = (under[channel] * missing + 127) / 255
                        memory[target + channel] = UInt8(min(255, UInt32(pixels[source + channel]) + shown))
                    }
                    source += 4
                    target += 3
                }
            }
        }
    }

    /// The same image in another format. Removing alpha draws the image on black.
    /// - Returns: `nil` if out of memory.
    package func converted(to format: Format) -> PixelBuffer? {
        guard format != self.format else { return self }
        guard format == .rgbaPremultiplied else { return flattened(onto: .black) }
        return PixelBuffer(size: size, format: format) { memory in
            withUnsafeBytes { pixels in
                for index in 0..<size.pixelCount {
                    for channel in 0..<3 { memory[index * 4 + channel] = pixels[index * 3 + channel] }
                    memory[index * 4 + 3] = 255
                }
            }
        }
    }

    /// Multiplies colors by alpha, pixel by pixel.
    package static func multiplyAlpha(in memory: UnsafeMutableRawBufferPointer) {
        let pixels = memory.bindMemory(to: UInt32.self)
        for index in pixels.indices {
            let pixel = pixels[index]
            let alpha = pixel >> 24
            if alpha == 255 { continue }
            // Two channels at a time, each in 16 bits; the division by 255 rounds.
            var outer = (pixel & 0x00FF_00FF) &* alpha &+ 0x0080_0080
            outer = (outer &+ (outer >> 8 & 0x00FF_00FF)) >> 8 & 0x00FF_00FF
            var green = (pixel >> 8 & 0xFF) &* alpha &+ 0x80
            green = (green &+ green >> 8) & 0xFF00
            pixels[index] = outer | green | alpha << 24
        }
    }

    /// Divides colors by alpha, pixel by pixel.
    package static func divideAlpha(in memory: UnsafeMutableRawBufferPointer) {
        for index in stride(from: 0, to: memory.count, by: 4) {
            let alpha = UInt32(memory[index + 3])
            if alpha == 255 { continue }
            for channel in index..<index + 3 {
                let color = UInt32(memory[channel])
                memory[channel] = alpha == 0 ? 0 : UInt8(min(255, (color * 255 + alpha / 2) / alpha))
            }
        }
    }

    /// Calls body with red, green, blue and straight alpha, as files store them.
    /// - Returns: `nil` if out of memory.
    package func withStraightAlpha<R>(_ body: (UnsafeBufferPointer<UInt8>) -> R) -> R? {
        guard let memory = malloc(byteCount) else { return nil }
        defer { free(memory) }
        let straight = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
        withUnsafeBytes { straight.copyMemory(from: $0) }
        Self.divideAlpha(in: straight)
        return body(UnsafeBufferPointer(straight.bindMemory(to: UInt8.self)))
    }
}
