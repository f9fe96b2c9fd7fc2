/// A search for the image that serves a request.
package struct MemoryQuery: Sendable {
    /// The image, without its size.
    let key: ImageKey
    /// The requested size; `nil` for any size, of which the largest is best.
    let size: DecodeSize?
    /// Whether an image up to twice as large serves as well.
    let acceptsLarger: Bool
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

    /// Whether an image fits better than another one that serves.
    func isBetter(_ image: WebImage, than other: WebImage) -> Bool {
        let isLarger = image.decodedSize.pixelCount > other.decodedSize.pixelCount
        return size == nil ? isLarger : !isLarger
    }

    /// Whether an image has the size of one decoded for this query, give or take a pixel, or is larger within bounds. The
    /// app's own may be as large as it likes.
    package func isServed(by image: WebImage, from origin: MemoryImageOrigin = .load) -> Bool {
        guard let size else { return true }
        let natural = image.naturalSizeBeforeTransform
        let target = size.target(for: natural)
        // A drawing at its own size would fill a larger box.
        if image.isVector, target == natural, let box = size.box,
            box.width > natural.width || box.height > natural.height,
            let options = image.decodeOptions, options.size.box == nil
        {
            return false
        }
        let decoded = image.decodedSize
        if acceptsLarger, origin == .app {
            return decoded.width >= target.width - 1 && decoded.height >= target.height - 1
        }
        let upTo = acceptsLarger ? 2 : 1
        return (target.width - 1...target.width * upTo + 1).contains(decoded.width)
            && (target.height - 1...target.height * upTo + 1).contains(decoded.height)
    }
}

extension DecodeSize {
    fileprivate var box: PixelSize? {
        switch self {
        case .original, .within: nil
        case .contain(let box), .cover(let box), .stretch(let box): box
        }
    }
}
