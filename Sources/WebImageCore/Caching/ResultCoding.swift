package import FoundationEssentials

/// Writes decoded pictures so that they are read again quickly. Called on the decode lane.
package protocol ResultCoding: Sendable {
    /// The bytes of `image`; `nil` when it is not worth them.
    func encode(_ image: WebImage) -> (Data, ResultInfo.Encoding)?

    /// The pixels of what ``encode(_:)`` wrote; `nil` when it is damaged.
    func decode(_ data: Data, _ info: ResultInfo) -> PixelBuffer?
}
