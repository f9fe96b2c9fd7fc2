package import FoundationEssentials

/// Encodes decoded images so that they are read again quickly. Called on the decode queue.
package protocol RenditionCoding: Sendable {
    /// The bytes of an image; `nil` when it is not worth keeping.
    /// - Parameter hasRoom: Whether the disk has room for files that are larger and faster to read.
    func encode(_ image: WebImage, hasRoom: Bool) -> (Data, RenditionInfo.Encoding)?

    /// The pixels that encode(_:hasRoom:) wrote; `nil` when they are damaged.
    func decode(_ data: Data, _ info: RenditionInfo) -> PixelBuffer?
}
