import Synchronization

/// A memory cache that evicts the least recently used images when their pixels exceed a limit.
///
/// A look-up still finds an evicted image while another object retains it: the cache keeps a weak reference.
package final class MemoryCache: Sendable {
    private let limits: Limits
    private let state = Mutex(State())
    private let stores = Atomic(0)

    /// - Parameters:
    ///   - costLimit: Bytes of pixels to keep.
    ///   - countLimit: Images to keep.
    package init(costLimit: Int, countLimit: Int = .max) {
        limits = Limits(cost: costLimit, count: countLimit)
    }

    package var statistics: MemoryCacheStatistics {
        state.withLock { state in
            var statistics = state.statistics
            statistics.count = state.keptCount
            statistics.byteCount = state.cost
            statistics.maximumByteCount = limits.cost
            return statistics
        }
    }

    /// The bytes of the images that the cache keeps alive.
    package var totalCost: Int { state.withLock { $0.cost } }
    /// The number of slots in use, by kept and evicted images.
    var slotCount: Int { state.withLock { $0.slots.count - $0.free.count } }

    /// How often an image was stored. A look-up that missed also misses later if the number is unchanged.
    var storeCount: Int { stores.load(ordering: .acquiring) }

    /// Counts the miss of a load whose look-up counted none.
    func countMiss() { state.withLock { $0.statistics.missCount += 1 } }

    /// The entry that answers a request, unless its response depends on header fields that the request does not have.
    func entry(for request: ImageRequest, inAnySize: Bool = false, isRepeated: Bool = false) -> MemoryEntry? {
        entry(for: MemoryQuery(request, inAnySize: inAnySize, isRepeated: isRepeated))
            .flatMap { $0.terms?.varying?.matches(request) ?? true ? $0 : nil }
    }

    package func entry(for query: MemoryQuery) -> MemoryEntry? {
        // Evicted images are released after the lock.
        var evicted: [WebImage] = []
        defer { withExtendedLifetime(evicted) {} }
        return state.withLock { state -> MemoryEntry? in
            guard let indices = state.byKey[query.key] else {
                if !query.isRepeated { state.statistics.missCount += 1 }
                return nil
            }
            var best: (index: Int, image: WebImage)?
            for index in indices {
                guard let image = state.image(at: index) else { continue }
                guard query.isServed(by: image, from: state.slots[index]?.origin ?? .load) else { continue }
                if let best, !query.isBetter(image, than: best.image) { continue }
                if state.isExpired(index) {
                    evicted += state.removeSlot(index)
                    continue
                }
                best = (index, image)
            }
            guard let best else {
                if !query.isRepeated { state.statistics.missCount += 1 }
                return nil
            }
            state.statistics.hitCount += 1
            if state.images[best.index] == nil {
                state.images[best.index] = best.image
                state.evicted[best.index].storage = nil
                state.cost += best.image.byteCount
                state.evictedCount -= 1
            } else if state.head != best.index {
                state.unlink(best.index)
            }
            if state.head != best.index { state.linkFirst(best.index) }
            evicted += state.evict(downTo: limits)
            let origin = state.slots[best.index]?.origin ?? .load
            return MemoryEntry(best.image, for: query.key, from: origin, terms: state.terms[best.index])
        }
    }

    package func store(_ entry: MemoryEntry) {
        let (image, key) = (entry.image, entry.key)
        guard image.byteCount <= limits.cost, limits.count > 0, !image.isPartial else { return }
        state.release { state in
            // An image decoded again at the same size replaces the old one.
            let same = state.byKey[key]?.first { state.isSameSize($0, image) }
            var released = same.map { state.removeSlot($0) } ?? []
            state.insert(entry)
            released += state.evict(downTo: limits)
            return released
        }
        stores.add(1, ordering: .releasing)
    }

    package func removeImages(source: String) {
        state.release { state in
            let keys = state.byKey.keys.filter { $0.source == source }
            return keys.flatMap { key in (state.byKey[key] ?? []).flatMap { state.removeSlot($0) } }
        }
    }

    /// Removes one entry, but not a newer one in its place. Other sizes of the image stay.
    package func remove(_ entry: MemoryEntry) {
        state.release { state in
            // The entry retains its image, so a weak reference still finds it after an eviction.
            let index = state.byKey[entry.key]?.first { state.image(at: $0)?.storage === entry.image.storage }
            return index.map { state.removeSlot($0) } ?? []
        }
    }

    package func removeAll() {
        state.release { state in
            var empty = State()
            empty.statistics = state.statistics
            return exchange(&state, with: empty)
        }
    }

    package func trim(toShare share: Double) {
        let goal = Limits(cost: Int(bounded: Double(limits.cost) * share), count: share > 0 ? limits.count : 0)
        state.release { $0.removeExpired() + $0.evict(downTo: goal) }
    }

    package func removeExpired() {
        state.release { $0.removeExpired() }
    }
}

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
