/// The number and the size of the entries of a cache.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries.
    public var count: Int
    /// The size of all entries in bytes. The disk cache counts the disk blocks of its files, and compares this number with its
    /// limit.
    public var byteCount: Int
    /// The most bytes that the cache keeps; `nil` if a cache does not state a limit.
    public var maximumByteCount: Int?

    /// Creates a usage, for your own ``DataCaching``.
    public init(count: Int = 0, byteCount: Int = 0, maximumByteCount: Int? = nil) {
        self.count = count
        self.byteCount = byteCount
        self.maximumByteCount = maximumByteCount
    }

    /// The neutral element of the addition below.
    static let none = CacheUsage(maximumByteCount: 0)

    /// The usage of both caches together.
    static func + (lhs: CacheUsage, rhs: CacheUsage) -> CacheUsage {
        var maximumByteCount: Int?
        if let left = lhs.maximumByteCount, let right = rhs.maximumByteCount {
            maximumByteCount = left.boundedSum(right)
        }
        return CacheUsage(
            count: lhs.count + rhs.count,
            byteCount: lhs.byteCount + rhs.byteCount,
            maximumByteCount: maximumByteCount
        )
    }
}
