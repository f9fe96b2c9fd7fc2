/// How long the stages of a load took. A stage that was not passed through, or whose work another load did, has zero.
public struct StageDurations: Sendable, Hashable {
    /// Reading the disk cache.
    public var reading: Duration = .zero
    /// Decoding.
    public var decoding: Duration = .zero
    /// Running the transformer.
    public var transforming: Duration = .zero

    /// Makes durations of zero.
    public init() {}
}
