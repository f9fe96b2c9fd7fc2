/// A cache of decoded images in memory. An app may bring one in place of the library's, such as one that its own images share.
///
/// The main thread and others call it at the same time, and some with a lock of the library held, so every call must be short,
/// wait for nothing and call nothing of the library but the members of its parameters.
public protocol MemoryCaching: Sendable {
    /// The entry that serves a query best; `nil` when there is none. ``MemoryQuery/best(of:)`` chooses it.
    func entry(for query: MemoryQuery) -> MemoryEntry?

    /// Stores an image in place of those that it ``MemoryEntry/replaces(_:)``, and evicts others when there are too many:
    /// ``WebImage/cost`` says what it takes.
    func store(_ entry: MemoryEntry)

    /// Removes all images of a source: those whose ``ImageKey/source`` it is.
    func removeImages(source: String)

    /// Removes all images.
    func removeAll()

    /// Evicts the least recently used images, down to a share of the limit (0 to 1), because memory is short.
    func trim(toShare share: Double)

    /// Removes the images that are ``MemoryEntry/isExpired``. Default: does nothing, since they serve no query.
    func removeExpired()

    /// What ``ImageCache/memoryStatistics`` returns. Default: zeros.
    var statistics: MemoryCacheStatistics { get }
}

extension MemoryCaching {
    /// Does nothing: an image that has expired is evicted in its turn.
    public func removeExpired() {}
    /// Zeros, for caches that do not count.
    public var statistics: MemoryCacheStatistics { MemoryCacheStatistics() }

    /// Removes one entry from the library's own cache. A cache of an app loses all sizes of the image.
    func discard(_ entry: MemoryEntry) {
        if let own = self as? MemoryCache { own.remove(entry) } else { removeImages(source: entry.key.source) }
    }
}

/// The contents of the memory cache, and how often it was hit.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of images that the cache keeps alive.
    public var count = 0
    /// The bytes of their pixels. GTK's renderer keeps a copy of a drawn image on the graphics card, which is not
    /// counted: GTK frees it by itself and does not report its size.
    public var byteCount = 0
    /// The most bytes that the cache keeps. Default: `nil`, for a cache that does not say.
    public var byteLimit: Int?
    /// The number of cache hits.
    public var hitCount = 0
    /// The number of cache misses.
    public var missCount = 0
    /// The number of evicted images.
    public var evictionCount = 0

    /// Makes statistics of zeros.
    public init() {}
}
