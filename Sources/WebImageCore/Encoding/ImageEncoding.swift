public import FoundationEssentials

/// Writes pictures as files of some formats. From any thread; it takes its time.
public protocol ImageEncoding: Sendable {
    /// Whether it writes files of `format` on this machine.
    func canEncode(_ format: ImageFormat) -> Bool

    /// Writes pixels as a file.
    /// - Parameters:
    ///   - pixels: What to write, at the size at which to write it.
    ///   - format: One that ``canEncode(_:)`` says yes to.
    ///   - quality: 0 to 1, for formats that lose something.
    ///   - options: What else was asked for.
    /// - Throws: ``ImageError/Code/encodingFailed``.
    func encode(
        _ pixels: PixelBuffer,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data

    /// Writes an animation as a file, frame by frame.
    /// - Returns: `nil` when the encoder writes still pictures only; that is the default.
    /// - Throws: ``ImageError/Code/encodingFailed``, and ``ImageError/Code/badImageData`` when its first frames are
    ///   damaged.
    func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data?
}

extension ImageEncoding {
    /// `nil`: most formats have no frames.
    public func encode(
        _ animation: ImageAnimation,
        as format: ImageFormat,
        quality: Double,
        options: EncodeOptions
    ) throws(ImageError) -> Data? { nil }
}
