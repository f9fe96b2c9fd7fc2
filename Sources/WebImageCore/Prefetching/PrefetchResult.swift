/// How a batch of prefetched pictures ended. The numbers add up to that of the URLs.
public struct PrefetchResult: Sendable, Equatable {
    /// Pictures that are in the caches now.
    public var loadedCount: Int
    /// Pictures that could not be loaded.
    public var failedCount: Int
    /// Pictures that were cancelled.
    public var cancelledCount: Int

    /// Makes a result.
    public init(loadedCount: Int = 0, failedCount: Int = 0, cancelledCount: Int = 0) {
        self.loadedCount = loadedCount
        self.failedCount = failedCount
        self.cancelledCount = cancelledCount
    }
}
