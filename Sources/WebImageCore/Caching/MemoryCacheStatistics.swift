/// What the memory cache holds, and how often it was of use.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// Pictures that it keeps alive.
    public var count = 0
    /// Bytes of their pixels. A renderer that has drawn a picture holds as much again on the graphics card, which is
    /// not counted: GTK frees that by itself, and no program learns how much it is.
    public var byteCount = 0
    /// Look-ups that found a picture.
    public var hitCount = 0
    /// Look-ups that found none.
    public var missCount = 0
    /// Pictures that were let go to make room.
    public var evictionCount = 0

    /// Makes statistics of zeros.
    public init() {}
}
