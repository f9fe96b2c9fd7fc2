public import FoundationEssentials

/// Writes images as files of some formats. Called on any thread except the main thread.
public protocol ImageEncoding: Sendable {
    /// Whether the encoder writes files of a format on this machine.
    func canEncode(_ format: ImageFormat) -> Bool

    /// Writes pixels as a file.
    /// - Parameters:
    ///   - pixels: The pixels, at the size of the file.
    ///   - format: A format that canEncode(_:) accepts.
    ///   - options: Sizes and limits are already applied. The quality is between 0 and 1.
    /// - Throws: ``ImageError/Code/encodingFailed``.
    func encode(_ pixels: PixelBuffer, as format: ImageFormat, options: EncodeOptions) throws(ImageError) -> Data

    /// Writes an animation as a file, frame by frame. The default returns `nil`, for encoders that write still images only.
    /// - Throws: ``ImageError/Code/encodingFailed``, and ``ImageError/Code/badImageData`` if the first frame is damaged.
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
    /// The largest size of the file in bytes, kept by lowering first the quality and then the size in pixels. Default: no limit.
    public var maximumByteCount: Int?
    /// A box in pixels that the image must fit in; the image is never enlarged. Default: none.
    public var maximumSize: PixelSize?
    /// The color behind transparent pixels in formats without alpha. Default: white.
    public var background = ImageColor.white
    /// Whether to write only the first frame of an animation. Default: no.
    public var isFirstFrameOnly = false
    /// Whether to write lossless WebP. Default: no.
    public var isLossless = false
    /// How much time WebP may use to make a smaller file, from 0 (the least) to 6. Other values are clamped. Default: 4.
    public var webPEffort = 4

    /// Creates the default options: quality 0.9, the size of the image, all frames.
    public init() {}
}
