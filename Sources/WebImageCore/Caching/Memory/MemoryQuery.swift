/// A look-up of an image for a request.
package struct MemoryQuery: Sendable {
    /// The image, without its size.
    let key: ImageKey
    /// The requested size; `nil` accepts any size and prefers the largest.
    let size: DecodeSize?
    /// Whether an image up to twice as wide and high also fits.
    let acceptsLarger: Bool
    /// Whether another query of the load counts its miss.
    let isRepeated: Bool

    package init(_ request: ImageRequest, inAnySize: Bool = false, isRepeated: Bool = false) {
        key = ImageKey(request)
        size = inAnySize ? nil : request.resolvedDecodeSize
        acceptsLarger = inAnySize || request.acceptsLarger
        self.isRepeated = isRepeated
    }

    /// Whether an image fits better than another that fits.
    func isBetter(_ image: WebImage, than other: WebImage) -> Bool {
        let isLarger = image.decodedSize.pixelCount > other.decodedSize.pixelCount
        return size == nil ? isLarger : !isLarger
    }

    /// Whether an image has the size that this query would decode, give or take a pixel, or is larger within bounds. Images stored
    /// by the app have no upper bound if the query accepts larger ones.
    package func isServed(by image: WebImage, from origin: MemoryImageOrigin = .load) -> Bool {
        guard let size else { return true }
        let natural = image.naturalSizeBeforeTransform
        let target = size.target(for: natural)
        // A vector image decoded at its natural size would be drawn larger for this box.
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
