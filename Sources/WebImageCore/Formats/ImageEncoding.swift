public import FoundationEssentials

/// Writes images as files of some formats. From any thread; it takes its time.
public protocol ImageEncoding: Sendable {
    /// Whether it writes files of format on this machine.
    func canEncode(_ format: ImageFormat) -> Bool

    /// Writes pixels as a file.
    /// - Parameters:
    ///   - pixels: What to write, at the size at which to write it.
    ///   - format: One that canEncode(_:) says yes to.
    ///   - quality: 0 to 1, for formats that lose something.
    ///   - options: What else was asked for.
    /// - Throws: ImageError/Code/encodingFailed.
    func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data

    /// Writes an animation as a file, frame by frame.
    /// - Returns: nil when the encoder writes still images only; that is the default.
    /// - Throws: ImageError/Code/encodingFailed, and ImageError/Code/badImageData when its first frames are
    ///   damaged.
    func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data?
}

extension ImageEncoding {
    /// nil: most formats have no frames.
    public func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data? { nil }
}

/// How an image is written as a file.
public struct EncodeOptions: Sendable, Hashable {
    /// 0 to 1, for formats that lose something. Default: 0.9.
    public var quality = 0.9
    /// Bytes of the file. Quality is lowered, and then the size in pixels, until it is kept. Default: any number.
    public var maximumByteCount: Int?
    /// A box that the image has to fit in, in pixels; it is never enlarged. Default: none.
    public var maximumSize: PixelSize?
    /// What shows through where a format knows no alpha, as 0xRRGGBB. Default: white.
    public var background: UInt32 = 0xFFFFFF
    /// Whether of an animated image only the first frame is written. Default: no.
    public var isFirstFrameOnly = false
    /// Whether WebP loses nothing. Default: no.
    public var isLossless = false

    /// Makes options of defaults.
    public init() {}
}
