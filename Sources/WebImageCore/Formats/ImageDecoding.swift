public import FoundationEssentials

/// Decodes image files of some formats. The threads of the decode queue call it, several at a time.
public protocol ImageDecoding: Sendable {
    /// Whether the decoder reads files of a format on this machine.
    func canDecode(_ format: ImageFormat) -> Bool

    /// Whether the decoder reads the file that begins with `head`. A decoder of an app's own format recognizes its
    /// signature here, so that no request needs a hint.
    ///
    /// The default ignores the bytes and asks whether the decoder reads the format.
    /// - Parameters:
    ///   - head: The first bytes of the file: 512, or fewer when it is shorter or still arriving.
    ///   - format: The format that the library recognizes, or that of the request's hint, or unknown.
    func canDecode(_ head: Data, format: ImageFormat) -> Bool

    /// Decodes a whole file into upright pixels.
    /// - Throws: ``ImageError/Code/badImageData`` or ``ImageError/Code/imageTooLarge``.
    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage

    /// Starts to decode a file that is still arriving.
    /// - Returns: `nil` when the decoder cannot show parts of a file of this format; that is the default.
    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)?
}

extension ImageDecoding {
    /// Asks whether the decoder reads the format, and ignores the bytes.
    public func canDecode(_ head: Data, format: ImageFormat) -> Bool { canDecode(format) }

    /// Returns `nil`: no part of an image is shown, and the file is decoded when it is complete.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? { nil }
}

/// Decodes one file while it arrives. One thread at a time uses it, not always the same; a cancelled load releases it without
/// finish(_:).
public protocol IncrementalImageDecoding: AnyObject {
    /// Accepts the next bytes.
    /// - Throws: When they are damaged. The decoder is not used afterwards.
    func append(_ data: Data) throws(ImageError)

    /// The visible part of the image.
    /// - Returns: `nil` when there is none, or it is the same as at the last call.
    func partialImage() -> WebImage?

    /// Ends the file.
    /// - Parameter data: The whole file, all of which was appended before.
    /// - Returns: The whole image, at the size of the options.
    /// - Throws: When bytes are missing.
    func finish(_ data: Data) throws(ImageError) -> WebImage
}
