/// A colour in sRGB.
public struct ImageColor: Hashable, Sendable {
    /// Red, green, blue and alpha, one byte each, from the highest: 0xRRGGBBAA. Colours are not multiplied by alpha.
    public let rgba: UInt32

    /// Makes a colour of 0xRRGGBB.
    public init(_ rgb: UInt32, alpha: Double = 1) {
        rgba = rgb << 8 | UInt32((min(max(alpha, 0), 1) * 255).rounded())
    }

    /// Nothing.
    public static let clear = ImageColor(0, alpha: 0)
    /// Black.
    public static let black = ImageColor(0)
    /// White.
    public static let white = ImageColor(0xFFFFFF)

    /// Multiplied by alpha and by a share of it, as pixels are stored: red in the lowest byte.
    func pixel(coverage: Double = 1) -> UInt32 {
        let alpha = Double(rgba & 255) / 255 * coverage
        func channel(_ shift: UInt32) -> UInt32 { UInt32((Double(rgba >> shift & 255) * alpha).rounded()) }
        return channel(24) | channel(16) << 8 | channel(8) << 16 | UInt32((alpha * 255).rounded()) << 24
    }
}
