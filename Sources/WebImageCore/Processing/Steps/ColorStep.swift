import Glibc

/// Applies a color matrix: each channel becomes a weighted sum of all three plus a constant.
struct ColorStep: PixelTransforming {
    let name: String
    /// The weights of red, green, blue and the constant, for each new channel, on a scale of 0 to 1.
    let rows: [SIMD4<Float>]

    var key: String { name }

    /// A weight bounded so that no product becomes infinite.
    private static func weight(_ amount: Double, ifNaN substitute: Double) -> Float {
        Float(amount.bounded(to: -1_000_000...1_000_000, ifNaN: substitute))
    }

    static func brightness(_ amount: Double) -> ColorStep {
        let offset = weight(amount, ifNaN: 0)
        return ColorStep(
            name: "brightness(\(amount))",
            rows: [[1, 0, 0, offset], [0, 1, 0, offset], [0, 0, 1, offset]]
        )
    }

    static func contrast(_ amount: Double) -> ColorStep {
        let factor = weight(amount, ifNaN: 1)
        let offset = 0.5 - factor / 2
        return ColorStep(
            name: "contrast(\(amount))",
            rows: [[factor, 0, 0, offset], [0, factor, 0, offset], [0, 0, factor, offset]]
        )
    }

    static func saturation(_ amount: Double) -> ColorStep {
        let factor = weight(amount, ifNaN: 1)
        // The luminance of each channel (ITU-R BT.709).
        let grey = SIMD4<Float>(0.2126, 0.7152, 0.0722, 0) * (1 - factor)
        return ColorStep(
            name: "saturation(\(amount))",
            rows: [grey + [factor, 0, 0, 0], grey + [0, factor, 0, 0], grey + [0, 0, factor, 0]]
        )
    }

    /// The matrix of the CSS filter sepia (Filter Effects Module Level 1).
    static let sepia = ColorStep(
        name: "sepia",
        rows: [[0.393, 0.769, 0.189, 0], [0.349, 0.686, 0.168, 0], [0.272, 0.534, 0.131, 0]]
    )

    /// Turns each color into its complement.
    static let inversion = ColorStep(
        name: "inverted",
        rows: [[-1, 0, 0, 1], [0, -1, 0, 1], [0, 0, -1, 1]]
    )

    /// The matrix of the CSS filter hue-rotate (Filter Effects Module Level 1), which preserves luminance.
    static func hueRotation(degrees: Double) -> ColorStep {
        let angle = degrees.isFinite ? degrees.truncatingRemainder(dividingBy: 360) * .pi / 180 : 0
        let (cosine, sine) = (Float(cos(angle)), Float(sin(angle)))
        let grey = SIMD4<Float>(0.213, 0.715, 0.072, 0)
        let turns: [(SIMD4<Float>, SIMD4<Float>)] = [
            ([0.787, -0.715, -0.072, 0], [-0.213, -0.715, 0.928, 0]),
            ([-0.213, 0.285, -0.072, 0], [0.143, 0.140, -0.283, 0]),
            ([-0.213, -0.715, 0.928, 0], [-0.787, 0.715, 0.072, 0]),
        ]
        return ColorStep(
            name: "hue(\(degrees))",
            rows: turns.map { grey + $0.0 * cosine + $0.1 * sine }
        )
    }

    func apply(to pixels: PixelBuffer, scale: Double) -> PixelBuffer? {
        let count = pixels.format.bytesPerPixel
        let (red, green, blue) = (rows[0], rows[1], rows[2])
        return PixelBuffer(size: pixels.size, format: pixels.format) { memory in
            let target = memory.bindMemory(to: UInt8.self).baseAddress!
            let source = pixels.baseAddress.assumingMemoryBound(to: UInt8.self)
            for offset in stride(from: 0, to: memory.count, by: count) {
                // The colors are premultiplied, so the constant is scaled by alpha and results are clamped to alpha.
                let alpha = count == 4 ? Float(source[offset + 3]) : 255
                let color = SIMD4<Float>(
                    Float(source[offset]),
                    Float(source[offset + 1]),
                    Float(source[offset + 2]),
                    alpha
                )
                func channel(_ row: SIMD4<Float>) -> UInt8 { UInt8(min(max((row * color).sum(), 0), alpha) + 0.5) }
                target[offset] = channel(red)
                target[offset + 1] = channel(green)
                target[offset + 2] = channel(blue)
                if count == 4 { target[offset + 3] = source[offset + 3] }
            }
        }
    }
}
