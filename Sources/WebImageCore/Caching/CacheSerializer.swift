public import FoundationEssentials

/// Chooses the bytes that the disk cache keeps of a loaded image: another format, a file without metadata, or nothing.
public struct CacheSerializer: Sendable {
    let serialize: @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?

    /// Makes a serializer.
    /// - Parameter serialize: Returns the bytes to keep, or `nil` to keep none. Called on the decode queue, with the image and its
    ///   original bytes. What it returns serves all loads, so that the image has its own size and all frames; where the load wanted
    ///   less, the file is decoded once more, after what is shown.
    public init(_ serialize: @escaping @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?) {
        self.serialize = serialize
    }
}
