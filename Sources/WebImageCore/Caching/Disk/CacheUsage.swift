/// The number and the size of the entries of a cache.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries.
    public var count: Int
    /// The size of all entries in bytes. On disk that is the size of their blocks, which is compared with the limit.
    public var byteCount: Int
    /// The most bytes that the cache keeps; `nil` for a cache that does not say, and for several caches of which one does not.
    public var maximumByteCount: Int?

    /// Creates a usage, for a cache of an app's own.
    public init(count: Int = 0, byteCount: Int = 0, maximumByteCount: Int? = nil) {
        self.count = count
        self.byteCount = byteCount
        self.maximumByteCount = maximumByteCount
    }

    /// The usage of no cache at all, to which others are added.
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
