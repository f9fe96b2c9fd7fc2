public import FoundationEssentials

/// The bytes of a URL, and what was said about them.
public struct LoadedData: Sendable {
    /// All of the bytes.
    public var data: Data
    /// What the server said about them.
    public var metadata: ResponseMetadata
    /// Whether the copy that ``LoadRequest/validators`` stand for is still the right one; there are no bytes then.
    public var isNotModified: Bool
    /// How the transfer went, if there was one.
    public var metrics: TransferMetrics?

    /// Makes the result of a load.
    public init(
        data: Data,
        metadata: ResponseMetadata = ResponseMetadata(),
        isNotModified: Bool = false,
        metrics: TransferMetrics? = nil
    ) {
        self.data = data
        self.metadata = metadata
        self.isNotModified = isNotModified
        self.metrics = metrics
    }
}
