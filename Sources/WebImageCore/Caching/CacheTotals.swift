/// How much a cache holds.
public struct CacheTotals: Sendable, Hashable {
    /// Entries.
    public var count: Int
    /// Bytes: of pixels in memory; of blocks on disk, which is what limits go by.
    public var byteCount: Int

    /// Makes totals.
    public init(count: Int = 0, byteCount: Int = 0) {
        self.count = count
        self.byteCount = byteCount
    }

    /// Both together.
    public static func + (lhs: CacheTotals, rhs: CacheTotals) -> CacheTotals {
        CacheTotals(count: lhs.count + rhs.count, byteCount: lhs.byteCount + rhs.byteCount)
    }
}
