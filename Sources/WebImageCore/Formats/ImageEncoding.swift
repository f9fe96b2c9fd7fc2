public import FoundationEssentials

/// Writes images as files of some formats. Called from any thread but the main thread.
public protocol ImageEncoding: Sendable {
    /// Whether the encoder writes files of a format on this machine.
    func canEncode(_ format: ImageFormat) -> Bool

    /// Writes pixels as a file.
    /// - Parameters:
    ///   - pixels: The pixels, at the size of the file.
    ///   - format: A format that canEncode(_:) accepts.
    ///   - options: How to write them. Sizes and limits are already applied, and the quality is from 0 to 1.
    /// - Throws: ``ImageError/Code/encodingFailed``.
    func encode(_ pixels: PixelBuffer, as format: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data

    /// Writes an animation as a file, frame by frame.
    ///
    /// The default returns `nil`: most encoders write still images only.
    /// - Throws: ``ImageError/Code/encodingFailed``, and ``ImageError/Code/badImageData`` when its first frame is damaged.
    func encode(_ animation: ImageAnimation, as format: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data?
}

extension ImageEncoding {
    /// Returns `nil`, for encoders that write still images only.
    public func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        options: EncodeOptions
    ) throws(ImageError) -> Data? { nil }
}

/// How an image is written as a file.
public struct EncodeOptions: Sendable, Hashable {
    /// The quality of lossy formats, 0 to 1. Default: 0.9.
    public var quality = 0.9
    /// The largest size of the file in bytes. Quality is lowered to keep it, and then the size in pixels. Default: no
    /// limit.
    public var maximumByteCount: Int?
    /// A box in pixels that the image has to fit in; it is never enlarged. Default: none.
    public var maximumSize: PixelSize?
    /// The color behind transparent pixels in formats without alpha. Default: white.
    public var background = ImageColor.white
    /// Whether only the first frame of an animated image is written. Default: no.
    public var isFirstFrameOnly = false
    /// Whether WebP is written without loss. Default: no.
    public var isLossless = false
    /// The time that is spent on a smaller WebP: 0, the least, to 6. Values outside count as the nearest one. Default: 4.
    public var webPEffort = 4

    /// Creates the default options: quality 0.9, the size of the image, all frames.
    public init() {}
}
