public import FoundationEssentials

/// Decides what the disk cache keeps of an image that was loaded: another format, without metadata, or nothing.
public struct CacheSerializer: Sendable {
    let serialize: @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?

    /// Makes a serializer.
    /// - Parameter serialize: Returns the bytes to keep, or `nil` to keep none. Called on the decode queue, with the
    ///   image and the bytes as they came.
    public init(_ serialize: @escaping @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?) {
        self.serialize = serialize
    }
}
