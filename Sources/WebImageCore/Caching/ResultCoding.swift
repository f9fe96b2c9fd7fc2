package import FoundationEssentials

/// Writes decoded pictures so that they are read again quickly. Called on the decode lane.
package protocol ResultCoding: Sendable {
    /// The bytes of `image`; `nil` when it is not worth them.
    /// - Parameter hasRoom: Whether there is room on disk for quick rather than small.
    func encode(_ image: WebImage, hasRoom: Bool) -> (Data, ResultInfo.Encoding)?

    /// The pixels of what ``encode(_:hasRoom:)`` wrote; `nil` when it is damaged.
    func decode(_ data: Data, _ info: ResultInfo) -> PixelBuffer?
}
