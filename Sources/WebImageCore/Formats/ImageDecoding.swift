public import FoundationEssentials

/// Decodes files of some formats. Called on the threads of the decode queue, several at a time.
public protocol ImageDecoding: Sendable {
    /// Whether it decodes files of format on this machine.
    func canDecode(_ format: ImageFormat) -> Bool

    /// Decodes a whole file into upright pixels.
    /// - Throws: ImageError/Code/badImageData or ImageError/Code/imageTooLarge.
    func decode(_ data: Data, options: DecodeOptions) throws(ImageError) -> WebImage

    /// Starts decoding a file that is still arriving.
    /// - Returns: nil when the coder cannot show parts of files of this format.
    func makeIncrementalDecoder(for format: ImageFormat, options: DecodeOptions) -> (any IncrementalImageDecoding)?
}

extension ImageDecoding {
    /// nil: most coders decode whole files only.
    public func makeIncrementalDecoder(
        for format: ImageFormat,
        options: DecodeOptions
    ) -> (any IncrementalImageDecoding)? { nil }
}

/// Decodes one file while it arrives. Used by one thread at a time; dropped without finish when the load is
/// cancelled.
public protocol IncrementalImageDecoding: AnyObject, Sendable {
    /// Takes the next bytes.
    /// - Throws: When they are not those of a sound image; nothing more is asked of the decoder then.
    func append(_ data: Data) throws(ImageError)

    /// What can be seen so far.
    /// - Returns: nil when that is nothing, or nothing new since the last call.
    func partialImage() -> WebImage?

    /// Ends the file.
    /// - Parameter data: All of the file; every byte of it was appended before.
    /// - Returns: The whole image, at the size of the options.
    /// - Throws: When bytes are missing.
    func finish(_ data: Data) throws(ImageError) -> WebImage
}
