import Synchronization

/// A memory cache that evicts the least recently used images when their pixels exceed a limit.
///
/// An evicted image that is still in use is found all the same: the cache keeps a weak reference.
package final class MemoryCache: MemoryCaching {
    fileprivate struct Weak {
        weak var storage: WebImage.Storage?
    }

    fileprivate struct Slot {
        let key: ImageKey
        let origin: MemoryImageOrigin
        /// The image while it counts towards the limit.
        var image: WebImage?
        var weak: Weak
        var previous = -1
        var next = -1
    }

    /// A doubly linked list through an array: the head was used last. The slot of an evicted image
    /// stays until a sweep finds that the image is no longer in use.
    fileprivate struct State {
        var slots: [Slot?] = []
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
            return statistics
        }
    }

    /// The bytes of the images that the cache keeps alive.
    package var totalCost: Int { state.withLock { $0.cost } }
    /// The number of known images, kept alive or not.
    package var slotCount: Int { state.withLock { $0.slots.count - $0.free.count } }

    package func image(for query: MemoryQuery) -> WebImage? {
        // Evicted images are released after the lock.
        var evicted: [WebImage] = []
        defer { _ = evicted }
        return state.withLock { state -> WebImage? in
            guard let indices = state.byKey[query.key] else {
                state.statistics.missCount += 1
                return nil
            }
            var best: (index: Int, image: WebImage)?
            for index in indices {
                // Fields are read one by one, because a copy of the slot would retain everything in it.
                let kept = state.slots[index]?.image
                guard let image = kept ?? state.slots[index]?.weak.storage.map(WebImage.init(storage:)) else {
                    continue
                }
                guard query.isServed(by: image, from: state.slots[index]?.origin ?? .load) else { continue }
                if let best, !Self.isBetter(image, than: best.image, for: query) { continue }
                best = (index, image)
            }
            guard let best else {
                state.statistics.missCount += 1
                return nil
            }
            state.statistics.hitCount += 1
            if state.slots[best.index]?.image == nil {
                state.slots[best.index]?.image = best.image
                state.cost += best.image.cost
                state.evictedCount -= 1
            } else if state.head != best.index {
                state.unlink(best.index)
            }
            if state.head != best.index { state.linkFirst(best.index) }
            evicted = state.evict(downTo: limits)
            return best.image
        }
    }

    package func store(_ image: WebImage, for key: ImageKey, from origin: MemoryImageOrigin = .load) {
        guard image.cost <= limits.cost, limits.count > 0, !image.isPartial else { return }
        var released: [WebImage] = []
        defer { _ = released }
        released = state.withLock { state in
            // An image that is decoded again at the same size replaces the old one.
            let same = state.byKey[key]?.first { state.slots[$0]?.isSameSize(as: image) ?? false }
            var released = same.map { state.removeSlot($0) } ?? []
            state.insert(image, for: key, from: origin)
            released += state.evict(downTo: limits)
            return released
        }
    }

    package func removeImages(source: String) {
        var released: [WebImage] = []
        defer { _ = released }
        released = state.withLock { state in
            let keys = state.byKey.keys.filter { $0.source == source }
            return keys.flatMap { key in (state.byKey[key] ?? []).flatMap { state.removeSlot($0) } }
        }
    }

    package func removeAll() {
        var old = State()
        defer { _ = old }
        state.withLock { state in
            old.statistics = state.statistics
            swap(&state, &old)
        }
    }

    package func trim(toShare share: Double) {
        var released: [WebImage] = []
        defer { _ = released }
        let goal = Limits(cost: Int(bounded: Double(limits.cost) * share), count: share > 0 ? limits.count : 0)
        released = state.withLock { $0.evict(downTo: goal) }
    }

    /// Whether an image fits a query better: the smallest one that serves is best, or the largest one for any size.
    private static func isBetter(_ image: WebImage, than other: WebImage, for query: MemoryQuery) -> Bool {
        let isLarger = image.decodedSize.pixelCount > other.decodedSize.pixelCount
        return query.size == nil ? isLarger : !isLarger
    }
}

extension MemoryCache.Slot {
    fileprivate func isSameSize(as other: WebImage) -> Bool {
        guard let mine = image ?? weak.storage.map(WebImage.init(storage:)) else { return true }
        return mine.decodedSize == other.decodedSize
    }
}

extension MemoryCache.State {
    fileprivate mutating func insert(_ image: WebImage, for key: ImageKey, from origin: MemoryImageOrigin) {
        let slot = MemoryCache.Slot(key: key, origin: origin, image: image, weak: .init(storage: image.storage))
        let index: Int
        if let reused = free.popLast() {
            index = reused
            slots[index] = slot
        } else {
            index = slots.count
            slots.append(slot)
        }
        byKey[key, default: []].append(index)
        cost += image.cost
        linkFirst(index)
    }

    /// The number of images that are kept alive.
    fileprivate var keptCount: Int { slots.count - free.count - evictedCount }

    fileprivate mutating func evict(downTo limits: MemoryCache.Limits) -> [WebImage] {
        // Nearly every call returns here, without allocating an array.
        guard cost > limits.cost || keptCount > limits.count else { return [] }
        var evicted: [WebImage] = []
        while cost > limits.cost || keptCount > limits.count, tail >= 0, let image = slots[tail]?.image {
            let index = tail
            unlink(index)
            slots[index]?.image = nil
            cost -= image.cost
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
            guard let slot = slots[index], slot.image == nil, slot.weak.storage == nil else { continue }
            _ = removeSlot(index)
        }
    }

    fileprivate mutating func removeSlot(_ index: Int) -> [WebImage] {
        guard let slot = slots[index] else { return [] }
        if let image = slot.image {
            unlink(index)
            cost -= image.cost
        } else {
            evictedCount -= 1
        }
        slots[index] = nil
        free.append(index)
        byKey[slot.key]?.removeAll { $0 == index }
        if byKey[slot.key]?.isEmpty == true { byKey[slot.key] = nil }
        return slot.image.map { [$0] } ?? []
    }

    fileprivate mutating func linkFirst(_ index: Int) {
        slots[index]?.previous = -1
        slots[index]?.next = head
        if head >= 0 { slots[head]?.previous = index }
        head = index
        if tail < 0 { tail = index }
    }

    fileprivate mutating func unlink(_ index: Int) {
        guard let previous = slots[index]?.previous, let next = slots[index]?.next else { return }
        if previous >= 0 { slots[previous]?.next = next } else { head = next }
        if next >= 0 { slots[next]?.previous = previous } else { tail = previous }
    }
}
