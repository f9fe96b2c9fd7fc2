/// A cache of decoded images in memory. The main thread calls it, so every call must be short and never wait for work.
package protocol MemoryCaching: Sendable {
    /// The image that serves a query best; `nil` when there is none.
    func image(for query: MemoryQuery) -> WebImage?

    /// Stores an image, and evicts others when there are too many.
    func store(_ image: WebImage, for key: ImageKey, from origin: MemoryImageOrigin)

    /// Removes all sizes of all images of a source.
    func removeImages(source: String)

    /// Evicts the least recently used images, down to a share of the limit (0 to 1).
    func trim(toShare share: Double)

    /// Removes all images.
    func removeAll()

    var statistics: MemoryCacheStatistics { get }
}

/// Where an image in the memory cache comes from.
package enum MemoryImageOrigin: Sendable {
    /// A load, which can be repeated at the size that is wanted.
    case load
    /// The app, whose image may exist nowhere else.
    case app
}

/// A search for the images that serve a request.
package struct MemoryQuery: Sendable {
    package let key: ImageKey
    /// The requested size; `nil` for any size, of which the largest is best.
    package let size: DecodeSize?
    /// Whether an image up to twice as large serves as well.
    package let acceptsLarger: Bool
    /// Whether the cache was asked for the same load before, so that it counts no second miss.
    package var isRepeated = false

    package init(key: ImageKey, size: DecodeSize?, acceptsLarger: Bool) {
        self.key = key
        self.size = size
        self.acceptsLarger = acceptsLarger
    }

    package init(_ request: ImageRequest) {
        self.init(key: ImageKey(request), size: request.resolvedDecodeSize, acceptsLarger: request.acceptsLarger)
    }

    /// Whether an image has the size of one decoded for this query, give or take a pixel, or is larger within bounds. The
    /// app's own may be as large as it likes.
    package func isServed(by image: WebImage, from origin: MemoryImageOrigin = .load) -> Bool {
        guard let size else { return true }
        let target = size.target(for: image.naturalSizeBeforeTransform)
        let decoded = image.decodedSize
        if acceptsLarger, origin == .app {
            return decoded.width >= target.width - 1 && decoded.height >= target.height - 1
        }
        let upTo = acceptsLarger ? 2 : 1
        return (target.width - 1...target.width * upTo + 1).contains(decoded.width)
            && (target.height - 1...target.height * upTo + 1).contains(decoded.height)
    }
}

/// The contents of the memory cache, and how often it was hit.
public struct MemoryCacheStatistics: Sendable, Hashable {
    /// The number of images that the cache keeps alive.
    public var count = 0
    /// The bytes of their pixels. GTK's renderer keeps a copy of a drawn image on the graphics card, which is not
    /// counted: GTK frees it by itself and does not report its size.
    public var byteCount = 0
    /// The number of cache hits.
    public var hitCount = 0
    /// The number of cache misses.
    public var missCount = 0
    /// The number of evicted images.
    public var evictionCount = 0

    /// Makes statistics of zeros.
    package init() {}
}
