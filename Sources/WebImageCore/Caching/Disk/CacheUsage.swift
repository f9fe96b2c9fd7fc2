/// The number and the size of the entries of a cache.
public struct CacheUsage: Sendable, Hashable {
    /// The number of entries.
    public var count: Int
    /// The size of all entries in bytes. On disk that is the size of their blocks, which is compared with the limit.
    public var byteCount: Int
    /// The most bytes that the cache keeps; `nil` for a cache that does not say, and for several caches of which one does not.
    public var byteLimit: Int?

    /// Creates a usage, for a cache of an app's own.
    public init(count: Int = 0, byteCount: Int = 0, byteLimit: Int? = nil) {
        self.count = count
        self.byteCount = byteCount
        self.byteLimit = byteLimit
    }

    /// The usage of no cache at all, to which others are added.
    static let none = CacheUsage(byteLimit: 0)

    /// The usage of both caches together.
    static func + (lhs: CacheUsage, rhs: CacheUsage) -> CacheUsage {
        var byteLimit: Int?
        if let left = lhs.byteLimit, let right = rhs.byteLimit { byteLimit = left.boundedSum(right) }
        return CacheUsage(
            count: lhs.count + rhs.count,
            byteCount: lhs.byteCount + rhs.byteCount,
            byteLimit: byteLimit
        )
    }
}
