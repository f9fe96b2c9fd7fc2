public import FoundationEssentials

/// Chooses the bytes that the disk cache keeps of a loaded image: another format, a file without metadata, or nothing.
public struct CacheSerializer: Sendable {
    let serialize: @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?

    /// Makes a serializer.
    /// - Parameter serialize: Returns the bytes to keep, or `nil` to keep none. Called on the decode queue with the original bytes
    ///   and the image decoded from them. All later loads use the kept bytes, so the image is decoded at full size with all frames.
    ///   If the load wanted less, this takes a second decode after the image is shown.
    public init(_ serialize: @escaping @Sendable (_ image: WebImage, _ data: Data, _ url: URL) -> Data?) {
        self.serialize = serialize
    }
}
