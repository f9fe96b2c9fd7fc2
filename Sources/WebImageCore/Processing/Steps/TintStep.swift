/// Paints everything opaque in one colour.
struct TintStep: PixelTransforming {
    let color: ImageColor

    var key: String { "tint(\(color.rgba))" }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        guard let source = pixels.converted(to: .rgbaPremultiplied) else { return nil }
        let tint = color.pixel()
        let through = 255 - tint >> 24
        return PixelBuffer(size: source.size, format: .rgbaPremultiplied) { memory in
            let target = memory.bindMemory(to: UInt32.self)
            let from = source.baseAddress.assumingMemoryBound(to: UInt32.self)
            for index in target.indices {
                let pixel = from[index]
                let alpha = pixel >> 24
                var mixed = alpha << 24
                for shift in [UInt32(0), 8, 16] {
                    let sum = (tint >> shift & 255) * alpha + (pixel >> shift & 255) * through
                    mixed |= min((sum + 127) / 255, alpha) << shift
                }
                target[index] = mixed
            }
        }
    }
}
