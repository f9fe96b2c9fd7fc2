import Synchronization

/// A memory cache that evicts the least recently used images when their pixels exceed a limit.
///
/// A look-up still finds an evicted image while another object retains it: the cache keeps a weak reference.
package final class MemoryCache: Sendable {
    fileprivate struct Weak {
        weak var storage: WebImage.Storage?
    }

    fileprivate struct Slot {
        let key: ImageKey
        let origin: MemoryImageOrigin
    }

    fileprivate struct Links {
        var previous = -1
        var next = -1
    }

    /// A doubly linked list in arrays, with the most recently used image at the head. The slot of an evicted image stays until a
    /// sweep finds that the image was released.
    ///
    /// Each part of a slot has a separate array, since reading one field of a combined struct copied all of it.
    fileprivate struct State {
        var slots: [Slot?] = []
        /// The images that count towards the limit.
        var images: [WebImage?] = []
        /// The evicted images. Kept images have no weak reference, because it slows down each later retain of the object.
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

    /// The entry that answers a request.
    func entry(for request: ImageRequest) -> MemoryEntry? { entry(for: MemoryQuery(request), answering: request) }

    /// The entry for a query, unless its response depends on header fields that a request does not have.
    func entry(for query: MemoryQuery, answering request: ImageRequest) -> MemoryEntry? {
        entry(for: query).flatMap { $0.terms?.varying?.matches(request) ?? true ? $0 : nil }
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

extension MemoryCache.State {
    /// The image of a slot; `nil` once an evicted image was released.
    fileprivate func image(at index: Int) -> WebImage? {
        images[index] ?? evicted[index].storage.map(WebImage.init(storage:))
    }

    fileprivate func isSameSize(_ index: Int, _ other: WebImage) -> Bool {
        guard let mine = image(at: index) else { return true }
        return mine.decodedSize == other.decodedSize
    }

    /// Whether the lifetime of an image is over. Few images have terms, so the clock is rarely read.
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
        // A sweep visits every slot, so it waits until many slots are evicted.
        if evictedCount > 64, evictedCount * 2 > slots.count { sweep() }
        return evicted
    }

    /// Removes the slots of evicted images that were released.
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
