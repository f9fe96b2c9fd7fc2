/// What a prefetcher has done in all its batches so far, told after each picture.
public struct PrefetchTotals: Sendable, Equatable {
    /// Pictures that were asked for.
    public var requestedCount = 0
    /// How those ended that have.
    public var result = PrefetchResult()

    /// Pictures that are through.
    public var finishedCount: Int { result.count }

    /// Makes totals of zero.
    public init() {}
}
