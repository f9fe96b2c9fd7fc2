/// The contents of the memory cache, and its numbers of hits and misses.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of images that the cache keeps alive.
    public var count = 0
    /// The bytes of their pixels. GTK's renderer keeps a copy of a drawn image on the graphics card, which is not
    /// counted: GTK frees it by itself and does not report its size.
    public var byteCount = 0
    /// The most bytes that the cache keeps.
    public var maximumByteCount = 0
    /// The number of look-ups that found an image since the manager was made. A load counts once.
    public var hitCount = 0
    /// The number of look-ups that found none. A load counts once.
    public var missCount = 0
    /// The number of evicted images.
    public var evictionCount = 0

    package init() {}
}
