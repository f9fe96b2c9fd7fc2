/// The contents of the memory cache, and its numbers of hits and misses.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of images that the cache keeps alive.
    public var count = 0
    /// The bytes of the pixels of kept images. GTK's renderer keeps uncounted copies of drawn images on the graphics card, which
    /// GTK frees without reporting their size.
    public var byteCount = 0
    /// The most bytes that the cache keeps.
    public var maximumByteCount = 0
    /// The number of look-ups that found an image since the manager was made. A load counts once.
    public var hitCount = 0
    /// The number of look-ups that found no image since the manager was made. A load counts once.
    public var missCount = 0
    /// The number of images evicted since the manager was made.
    public var evictionCount = 0

    package init() {}
}
