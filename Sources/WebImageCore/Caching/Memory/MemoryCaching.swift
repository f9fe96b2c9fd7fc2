/// Decoded images in memory. Asked on the main thread: every call has to be short and must not wait for work.
package protocol MemoryCaching: Sendable {
    /// The image that serves `query`, if there is one.
    func image(for query: MemoryQuery) -> WebImage?

    /// Keeps `image`, and lets go of others when that is too much.
    func store(_ image: WebImage, for key: ImageKey)

    /// Lets go of every size of every image of a source.
    func removeImages(source: String)

    /// Lets go of the least recently used images, down to a share of the limit.
    func trim(toShare share: Double)

    /// Lets go of everything.
    func removeAll()

    var statistics: MemoryCacheStatistics { get }
}

/// Which images would serve a request.
package struct MemoryQuery: Sendable {
    package let key: ImageKey
    /// `nil`: any size, the largest one is best.
    package let size: DecodeSize?
    /// Whether an image up to twice as large may stand in.
    package let acceptsLarger: Bool

    package init(key: ImageKey, size: DecodeSize?, acceptsLarger: Bool) {
        self.key = key
        self.size = size
        self.acceptsLarger = acceptsLarger
    }

    package init(_ request: ImageRequest) {
        self.init(key: ImageKey(request), size: request.decodeSize, acceptsLarger: request.acceptsLarger)
    }

    /// Whether `image` is as large as an image decoded for this query, to one pixel, or larger within bounds.
    package func isServed(by image: WebImage) -> Bool {
        guard let size else { return true }
        let target = size.target(for: image.naturalSizeBeforeTransform)
        let decoded = image.decodedSize
        let upTo = acceptsLarger ? 2 : 1
        return (target.width - 1...target.width * upTo + 1).contains(decoded.width)
            && (target.height - 1...target.height * upTo + 1).contains(decoded.height)
    }
}

/// What the memory cache holds, and how often it was of use.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// Images that it keeps alive.
    public var count = 0
    /// Bytes of their pixels. A renderer that has drawn an image holds as much again on the graphics card, which is
    /// not counted: GTK frees that by itself, and no program learns how much it is.
    public var byteCount = 0
    /// Look-ups that found an image.
    public var hitCount = 0
    /// Look-ups that found none.
    public var missCount = 0
    /// Images that were let go to make room.
    public var evictionCount = 0

    /// Makes statistics of zeros.
    public init() {}
}
