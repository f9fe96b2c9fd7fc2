/// Decoded pictures in memory. Asked on the main thread: every call has to be short and must not wait for work.
package protocol MemoryCaching: Sendable {
    /// The picture that serves `query`, if there is one.
    func image(for query: MemoryQuery) -> WebImage?

    /// Keeps `image`, and lets go of others when that is too much.
    func store(_ image: WebImage, for key: ImageKey)

    /// Lets go of every size of every picture of a source.
    func removeImages(source: String)

    /// Lets go of the least recently used pictures, down to a share of the limit.
    func trim(toShare share: Double)

    /// Lets go of everything.
    func removeAll()

    var statistics: MemoryCacheStatistics { get }
}

/// Which pictures would serve a request.
package struct MemoryQuery: Sendable {
    package let key: ImageKey
    /// `nil`: any size, the largest one is best.
    package let size: DecodeSize?
    /// Whether a picture up to twice as large may stand in.
    package let acceptsLarger: Bool

    package init(key: ImageKey, size: DecodeSize?, acceptsLarger: Bool) {
        self.key = key
        self.size = size
        self.acceptsLarger = acceptsLarger
    }

    package init(_ request: ImageRequest) {
        self.init(key: ImageKey(request), size: request.decodeSize, acceptsLarger: request.acceptsLarger)
    }

    /// Whether `image` is as large as a picture decoded for this query, to one pixel, or larger within bounds.
    package func isServed(by image: WebImage) -> Bool {
        guard let size else { return true }
        let target = size.target(for: image.naturalSizeBeforeTransform)
        let decoded = image.decodedSize
        let upTo = acceptsLarger ? 2 : 1
        return (target.width - 1...target.width * upTo + 1).contains(decoded.width)
            && (target.height - 1...target.height * upTo + 1).contains(decoded.height)
    }
}
