import Glibc

extension PixelBuffer {
    /// The gamut and the depth of colors.
    ///
    /// Decoders make wide colors only for a display that can show them. Transformers, encoders and apps receive standard colors.
    package struct Colors: Hashable, Sendable {
        /// The primaries. The transfer function is always sRGB's.
        package enum Gamut: CaseIterable {
            case sRGB
            /// The primaries of SMPTE EG 432-1 with the white point D65, which phone cameras use.
            case displayP3
        }

        package var gamut: Gamut
        /// Whether a channel has 16 bits instead of 8, in the byte order of the machine.
        package var isDeep: Bool

        package init(gamut: Gamut, isDeep: Bool) {
            self.gamut = gamut
            self.isDeep = isDeep
        }

        /// 8 bits of sRGB.
        package static let standard = Colors(gamut: .sRGB, isDeep: false)

        package var bytesPerChannel: Int { isDeep ? 2 : 1 }
    }

    /// The same image with standard colors. Colors outside sRGB are clamped channel by channel.
    /// - Returns: `nil` if out of memory.
    package func standard() -> PixelBuffer? {
        guard colors != .standard else { return self }
        let conversion = colors.gamut == .displayP3 ? GamutConversion.shared : nil
        let count = format.bytesPerPixel
        return PixelBuffer(size: size, format: format) { memory in
            withUnsafeBytes { bytes in
                var pixel = (Float(0), Float(0), Float(0))
                for offset in stride(from: 0, to: memory.count, by: count) {
                    func channel(_ index: Int) -> Float {
                        guard colors.isDeep else { return Float(bytes[offset + index]) / 255 }
                        return Float(bytes.load(fromByteOffset: (offset + index) * 2, as: UInt16.self)) / 65535
                    }
                    let alpha = hasAlpha ? channel(3) : 1
                    pixel = (channel(0), channel(1), channel(2))
                    if let conversion, alpha > 0 {
                        pixel = conversion.convert((pixel.0 / alpha, pixel.1 / alpha, pixel.2 / alpha))
                        pixel = (pixel.0 * alpha, pixel.1 * alpha, pixel.2 * alpha)
                    }
                    memory[offset] = UInt8((pixel.0 * 255).rounded())
                    memory[offset + 1] = UInt8((pixel.1 * 255).rounded())
                    memory[offset + 2] = UInt8((pixel.2 * 255).rounded())
                    if hasAlpha { memory[offset + 3] = UInt8((alpha * 255).rounded()) }
                }
            }
        }
    }

    /// Multiplies 16-bit colors by alpha, pixel by pixel.
    package static func multiplyDeepAlpha(in memory: UnsafeMutableRawBufferPointer) {
        mapDeepColors(in: memory) { color, alpha in (color * alpha + 0x7FFF) / 0xFFFF }
    }

    /// Divides 16-bit colors by alpha, pixel by pixel.
    package static func divideDeepAlpha(in memory: UnsafeMutableRawBufferPointer) {
        mapDeepColors(in: memory) { color, alpha in alpha == 0 ? 0 : min(0xFFFF, (color * 0xFFFF + alpha / 2) / alpha) }
    }

    @inline(__always)
    private static func mapDeepColors(
        in memory: UnsafeMutableRawBufferPointer,
        _ change: (_ color: UInt32, _ alpha: UInt32) -> UInt32
    ) {
        let samples = memory.bindMemory(to: UInt16.self)
        for index in stride(from: 0, to: samples.count, by: 4) {
            let alpha = UInt32(samples[index + 3])
            if alpha == 0xFFFF { continue }
            for channel in index..<index + 3 { samples[channel] = UInt16(change(UInt32(samples[channel]), alpha)) }
        }
    }

    /// The upright image at another size, in the same gamut and depth.
    func resizedWide(to target: PixelSize, orientation: ImageOrientation) -> PixelBuffer? {
        var scaled = self
        if target != size {
            let smaller = PixelBuffer(size: target, format: format, colors: colors) { memory in
                withExtendedLifetime(self) {
                    if colors.isDeep {
                        AreaScaler.scaleDeep(self, to: target, into: memory.bindMemory(to: UInt16.self).baseAddress!)
                    } else {
                        AreaScaler.scale(rows, to: target, into: memory.bindMemory(to: UInt8.self).baseAddress!)
                    }
                }
            }
            guard let smaller else { return nil }
            scaled = smaller
        }
        guard orientation != .up else { return scaled }
        let count = bytesPerPixel
        return PixelBuffer(size: orientation.apply(to: target), format: format, colors: colors) { memory in
            withExtendedLifetime(scaled) {
                let path = RowPath(
                    scaled.baseAddress,
                    target,
                    bytesPerRow: scaled.bytesPerRow,
                    bytesPerPixel: count,
                    orientation: orientation
                )
                path.forEachPixel(writing: memory.baseAddress!, bytesPerPixel: count) { source, target in
                    target.update(from: source, count: count)
                }
            }
        }
    }
}

/// Converts colors from Display P3 to sRGB.
private struct GamutConversion: Sendable {
    static let shared = GamutConversion()

    /// The inverse transfer function in 4,096 steps.
    private let linear: [Float]
    /// The transfer function in 4,096 steps of the square root, which are dense where the function is steep.
    private let encoded: [Float]

    private init() {
        // The formulas of IEC 61966-2-1.
        linear = (0...4096).map { step in
            let value = Float(step) / 4096
            return value <= 0.04045 ? value / 12.92 : powf((value + 0.055) / 1.055, 2.4)
        }
        encoded = (0...4096).map { step in
            let value = Float(step) / 4096 * Float(step) / 4096
            return value <= 0.0031308 ? value * 12.92 : 1.055 * powf(value, 1 / 2.4) - 0.055
        }
    }

    /// Converts channels from 0 to 1 with straight alpha.
    func convert(_ color: (Float, Float, Float)) -> (Float, Float, Float) {
        let (red, green, blue) = (linear(color.0), linear(color.1), linear(color.2))
        // The product of the primaries' matrices. Each row adds up to 1, since both gamuts have the white point D65.
        return (
            encoded(1.2249402 * red - 0.2249402 * green),
            encoded(-0.0420570 * red + 1.0420570 * green),
            encoded(-0.0196376 * red - 0.0786361 * green + 1.0982737 * blue)
        )
    }

    private func linear(_ value: Float) -> Float { Self.look(up: value, in: linear) }

    private func encoded(_ value: Float) -> Float { Self.look(up: max(value, 0).squareRoot(), in: encoded) }

    private static func look(up value: Float, in table: [Float]) -> Float {
        let position = min(max(value, 0), 1) * 4096
        let index = min(Int(position), 4095)
        return table[index] + (table[index + 1] - table[index]) * (position - Float(index))
    }
}
