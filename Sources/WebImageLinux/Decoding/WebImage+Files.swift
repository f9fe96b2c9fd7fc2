public import FoundationEssentials
public import WebImageCore

extension WebImage {
    /// Decodes a file in memory with the coders of ``ImageManager/shared``. Not for the main thread.
    /// - Throws: ImageError.Code.badImageData, ImageError.Code.imageTooLarge or ImageError.Code.unsupportedFormat.
    public init(data: Data, options: DecodeOptions = DecodeOptions()) throws(ImageError) {
        self = try ImageManager.shared.coders.decode(data, options: options)
    }

    /// Reads and decodes a file. Its name sets the scale (@2x, @3x). Not for the main thread.
    /// - Throws: ImageError.Code.unreadable, also if the path is no regular file or the file exceeds the `maximumByteCount` of
    ///   ``ImageDownloader/shared``, and the errors of decoding.
    public init(contentsOf file: URL, options: DecodeOptions = DecodeOptions()) throws(ImageError) {
        var options = options
        options.url = file
        options.scale = max(options.scale, ImageRequest(url: file).scale)
        let read = LocalLoader.reader(
            maximumByteCount: ImageDownloader.shared.configuration.maximumByteCount
        )
        try self.init(data: try read(file).data, options: options)
    }

    /// Encodes the image as a file with the coders of ``ImageManager/shared`` (see CoderRegistry.encode(_:as:options:)). Not for
    /// the main thread.
    public func data(
        as format: ImageFormat? = nil,
        options: EncodeOptions = EncodeOptions()
    ) throws(ImageError) -> Data {
        try ImageManager.shared.coders.encode(self, as: format, options: options)
    }
}
