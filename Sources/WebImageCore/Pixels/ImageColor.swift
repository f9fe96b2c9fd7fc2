/// A color in sRGB.
public struct ImageColor: Hashable, Sendable {
    /// Red, green, blue and straight alpha: 0xRRGGBBAA.
    public let rgba: UInt32

    /// Makes a color from 0xRRGGBB. `alpha` is clamped to 0 through 1.
    public init(_ rgb: UInt32, alpha: Double = 1) {
        rgba = rgb << 8 | UInt32((alpha.bounded(to: 0...1, ifNaN: 1) * 255).rounded())
    }

    init(rgba: UInt32) { self.rgba = rgba }

    /// Transparent black.
    public static let clear = ImageColor(0, alpha: 0)
    /// Black.
    public static let black = ImageColor(0)
    /// White.
    public static let white = ImageColor(0xFFFFFF)

    /// The color as a packed pixel with premultiplied alpha.
    /// - Parameter coverage: The covered share of the pixel, from 0 to 1.
    func pixel(coverage: Double = 1) -> UInt32 {
        let alpha = Double(rgba & 255) / 255 * coverage
        func channel(_ shift: UInt32) -> UInt32 { UInt32((Double(rgba >> shift & 255) * alpha).rounded()) }
        return channel(24) | channel(16) << 8 | channel(8) << 16 | UInt32((alpha * 255).rounded()) << 24
    }
}

// A packed pixel: red in the lowest byte, alpha in the highest, colors premultiplied.
extension UInt32 {
    /// The pixel drawn over another one.
    @inline(__always)
    func over(_ under: UInt32) -> UInt32 {
        let through = 255 - self >> 24
        // Two channels at a time, each in 16 bits; the division by 255 rounds.
        var low = (under & 0x00FF_00FF) &* through &+ 0x0080_0080
        low = (low &+ (low >> 8 & 0x00FF_00FF)) >> 8 & 0x00FF_00FF
        var high = (under >> 8 & 0x00FF_00FF) &* through &+ 0x0080_0080
        high = (high &+ (high >> 8 & 0x00FF_00FF)) >> 8 & 0x00FF_00FF
        return self &+ (low | high << 8)
    }

    /// The pixel with a share of its coverage: all channels are multiplied.
    func scaled(by share: Double) -> UInt32 {
        func channel(_ shift: UInt32) -> UInt32 { UInt32((Double(self >> shift & 255) * share).rounded()) << shift }
        return channel(0) | channel(8) | channel(16) | channel(24)
    }
}
