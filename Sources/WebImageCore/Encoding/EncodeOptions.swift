/// How a picture is written as a file.
public struct EncodeOptions: Sendable, Hashable {
    /// 0 to 1, for formats that lose something. Default: 0.9.
    public var quality = 0.9
    /// Bytes of the file. Quality is lowered, and then the size in pixels, until it is kept. Default: any number.
    public var maximumByteCount: Int?
    /// A box that the picture has to fit in, in pixels; it is never enlarged. Default: none.
    public var maximumSize: PixelSize?
    /// What shows through where a format knows no alpha, as 0xRRGGBB. Default: white.
    public var background: UInt32 = 0xFFFFFF
    /// Whether of an animated picture only the first frame is written. Default: no.
    public var isFirstFrameOnly = false
    /// Whether WebP loses nothing. Default: no.
    public var isLossless = false

    /// Makes options of defaults.
    public init() {}
}
