/// Changes a decoded picture before it is cached in memory and shown: round corners, a tint, a crop. Runs on the decode
/// lane, several at a time.
public protocol ImageTransformer: Sendable {
    /// Names the transformer with its parameters: two with equal keys do the same to every picture.
    var key: String { get }

    /// The changed picture. Partial pictures come through here too.
    /// - Returns: `nil` when it cannot be done, which ends the load in ``ImageError/Code/transformFailed``.
    func transform(_ image: WebImage) -> WebImage?
}
