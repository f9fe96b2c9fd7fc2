/// A colour in sRGB.
public struct ImageColor: Hashable, Sendable {
    /// Red, green, blue and straight alpha: 0xRRGGBBAA.
    public let rgba: UInt32

    /// Makes a colour of 0xRRGGBB.
    public init(_ rgb: UInt32, alpha: Double = 1) {
        rgba = rgb << 8 | UInt32((min(max(alpha, 0), 1) * 255).rounded())
    }

    /// Transparent black.
    public static let clear = ImageColor(0, alpha: 0)
    /// Black.
    public static let black = ImageColor(0)
    /// White.
    public static let white = ImageColor(0xFFFFFF)

    /// The colour as a packed pixel with premultiplied alpha.
    /// - Parameter coverage: The share of the pixel that it covers, 0 to 1.
    func pixel(coverage: Double = 1) -> UInt32 {
        let alpha = Double(rgba & 255) / 255 * coverage
        func channel(_ shift: UInt32) -> UInt32 { UInt32((Double(rgba >> shift & 255) * alpha).rounded()) }
        return channel(24) | channel(16) << 8 | channel(8) << 16 | UInt32((alpha * 255).rounded()) << 24
    }
}
