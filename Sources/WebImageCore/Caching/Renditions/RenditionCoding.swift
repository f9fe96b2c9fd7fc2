package import FoundationEssentials

/// Encodes decoded images so that they are read again quickly. Called on the decode queue.
package protocol RenditionCoding: Sendable {
    /// The bytes of an image; `nil` when it is not worth keeping.
    /// - Parameter hasRoom: Whether the disk has room for files that are larger and faster to read.
    func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)?

    /// The pixels that encode(_:hasRoom:) wrote; `nil` when they are damaged.
    func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer?
}

extension ImageKey {
    /// The key of a rendition on disk. Its base is the key of the original, so that all renditions of an image are
    /// found.
    package func renditionKey(size: DecodeSize) -> String {
        CacheKey.string(base: source, variant: "\(size) \(scale) \(transformer)")
    }
}
