public import FoundationEssentials

/// Decodes image files of some formats. Several threads of the decode queue call it at a time.
public protocol ImageDecoding: Sendable {
    /// Whether the decoder reads files of a format on this machine.
    func canDecode(_ format: ImageFormat) -> Bool

    /// Whether the decoder reads the file that begins with `head`. Recognize the signature of your own format here, so that
    /// requests need no hint.
    ///
    /// The default ignores the bytes and calls ``canDecode(_:)``.
    /// - Parameters:
    ///   - head: The first 512 bytes of the file; fewer if the file is shorter or still arriving.
    ///   - format: The format that the library recognizes, else the hint of the request, else unknown.
    func canDecode(_ head: Data, format: ImageFormat) -> Bool

    /// Decodes a whole file into upright pixels.
    /// - Throws: ``ImageError/Code/badImageData`` or ``ImageError/Code/imageTooLarge``.
    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage

    /// Starts to decode a file that is still arriving.
    /// - Returns: `nil`, the default, if the decoder cannot show parts of a file of this format.
    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)?
}

extension ImageDecoding {
    /// Calls ``canDecode(_:)`` and ignores the bytes.
    public func canDecode(_ head: Data, format: ImageFormat) -> Bool { canDecode(format) }

    /// Returns `nil`: no partial images are shown, and the complete file is decoded.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? { nil }
}

/// Decodes one file while it arrives. One thread at a time uses the decoder, but not always the same thread. A cancelled load
/// releases the decoder without calling finish(_:).
public protocol IncrementalImageDecoding: AnyObject {
    /// Accepts the next bytes.
    /// - Throws: If the bytes are damaged. The decoder is not used again.
    func append(_ data: Data) throws(ImageError)

    /// The visible part of the image; `nil` if nothing is visible or has changed since the last call.
    func partialImage() -> WebImage?

    /// Ends the file.
    /// - Parameter data: The whole file. All of it was appended before.
    /// - Returns: The whole image, at the size of the options.
    /// - Throws: If bytes are missing.
    func finish(_ data: Data) throws(ImageError) -> WebImage
}
