import Synchronization

/// A memory cache that evicts the least recently used images when their pixels exceed a limit.
///
/// An evicted image that is still in use is found all the same: the cache keeps a weak reference.
package final class MemoryCache: Sendable {
    fileprivate struct Weak {
        weak var storage: WebImage.Storage?
    }

    /// What is known of an image besides its pixels.
    fileprivate struct Slot {
        let key: ImageKey
        let origin: MemoryImageOrigin
    }

    fileprivate struct Links {
        var previous = -1
        var next = -1
    }

    /// A doubly linked list through an array: the head was used last. The slot of an evicted image
    /// stays until a sweep finds that the image is no longer in use.
    ///
    /// The parts of a slot are in arrays of their own, since a look-up that read one of them copied all of it.
    fileprivate struct State {
        var slots: [Slot?] = []
        /// The images that count towards the limit.
        var images: [WebImage?] = []
        /// The evicted images. Only they have a weak reference, because each later retain of an object that has one is slower.
        var evicted: [Weak] = []
        var links: [Links] = []
        var terms: [MemoryTerms?] = []
        var free: [Int] = []
        var byKey: [ImageKey: [Int]] = [:]
        var head = -1
        var tail = -1
        var cost = 0
        var evictedCount = 0
        var statistics = MemoryCacheStatistics()
    }

    /// The limits in bytes of pixels and in images.
    fileprivate struct Limits {
        var cost: Int
        var count: Int
    }

    private let limits: Limits
    private let state = Mutex(State())

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
    /// The number of known images, kept alive or not.
    package var slotCount: Int { state.withLock { $0.slots.count - $0.free.count } }

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
            // An image that is decoded again at the same size replaces the old one.
            let same = state.byKey[key]?.first { state.isSameSize($0, image) }
            var released = same.map { state.removeSlot($0) } ?? []
            state.insert(entry)
            released += state.evict(downTo: limits)
            return released
        }
    }

    package func removeImages(source: String) {
        state.release { state in
            let keys = state.byKey.keys.filter { $0.source == source }
            return keys.flatMap { key in (state.byKey[key] ?? []).flatMap { state.removeSlot($0) } }
        }
    }

    /// Removes one entry, and none that has taken its place. The other sizes of its image stay.
    package func remove(_ entry: MemoryEntry) {
        state.release { state in
            // It may have been evicted meanwhile, and is found again for as long as the entry keeps it alive.
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

extension MemoryCache.State {
    /// The image of a slot, unless it was evicted and is no longer in use.
    fileprivate func image(at index: Int) -> WebImage? {
        images[index] ?? evicted[index].storage.map(WebImage.init(storage:))
    }

    fileprivate func isSameSize(_ index: Int, _ other: WebImage) -> Bool {
        guard let mine = image(at: index) else { return true }
        return mine.decodedSize == other.decodedSize
    }

    /// Whether the time of an image is over. Few images have terms, so that the clock is rarely asked.
    fileprivate func isExpired(_ index: Int) -> Bool { terms[index]?.isOver ?? false }

    fileprivate mutating func removeExpired() -> [WebImage] {
        var released: [WebImage] = []
        for index in slots.indices where isExpired(index) { released += removeSlot(index) }
        return released
    }

    fileprivate mutating func insert(_ entry: MemoryEntry) {
        let (key, image) = (entry.key, entry.image)
        let slot = MemoryCache.Slot(key: key, origin: entry.origin)
        let index: Int
        if let reused = free.popLast() {
            index = reused
            slots[index] = slot
            images[index] = image
            terms[index] = entry.terms
        } else {
            index = slots.count
            slots.append(slot)
            images.append(image)
            evicted.append(MemoryCache.Weak())
            links.append(MemoryCache.Links())
            terms.append(entry.terms)
        }
        byKey[key, default: []].append(index)
        cost += image.byteCount
        linkFirst(index)
    }

    /// The number of images that are kept alive.
    fileprivate var keptCount: Int { slots.count - free.count - evictedCount }

    fileprivate mutating func evict(downTo limits: MemoryCache.Limits) -> [WebImage] {
        // Nearly every call returns here, without allocating an array.
        guard cost > limits.cost || keptCount > limits.count else { return [] }
        var evicted: [WebImage] = []
        while cost > limits.cost || keptCount > limits.count, tail >= 0, let image = images[tail] {
            let index = tail
            unlink(index)
            images[index] = nil
            self.evicted[index].storage = image.storage
            cost -= image.byteCount
            evictedCount += 1
            statistics.evictionCount += 1
            evicted.append(image)
        }
        // A sweep looks at every slot, so it waits until many are empty.
        if evictedCount > 64, evictedCount * 2 > slots.count { sweep() }
        return evicted
    }

    /// Removes the slots of evicted images that are no longer in use.
    private mutating func sweep() {
        for index in slots.indices {
            guard slots[index] != nil, images[index] == nil, evicted[index].storage == nil else { continue }
            _ = removeSlot(index)
        }
    }

    fileprivate mutating func removeSlot(_ index: Int) -> [WebImage] {
        guard let slot = slots[index] else { return [] }
        let image = exchange(&images[index], with: nil)
        if let image {
            unlink(index)
            cost -= image.byteCount
        } else {
            evictedCount -= 1
            evicted[index].storage = nil
        }
        slots[index] = nil
        terms[index] = nil
        free.append(index)
        byKey[slot.key]?.removeAll { $0 == index }
        if byKey[slot.key]?.isEmpty == true { byKey[slot.key] = nil }
        return image.map { [$0] } ?? []
    }

    fileprivate mutating func linkFirst(_ index: Int) {
        links[index] = MemoryCache.Links(previous: -1, next: head)
        if head >= 0 { links[head].previous = index }
        head = index
        if tail < 0 { tail = index }
    }

    fileprivate mutating func unlink(_ index: Int) {
        let (previous, next) = (links[index].previous, links[index].next)
        if previous >= 0 { links[previous].next = next } else { head = next }
        if next >= 0 { links[next].previous = previous } else { tail = previous }
    }
}
