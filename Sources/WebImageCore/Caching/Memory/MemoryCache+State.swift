extension MemoryCache {
    struct Weak {
        weak var storage: WebImage.Storage?
    }

    struct Slot {
        let key: ImageKey
        let origin: MemoryImageOrigin
    }

    struct Links {
        var previous = -1
        var next = -1
    }

    /// A doubly linked list in arrays, with the most recently used image at the head. The slot of an evicted image stays until a
    /// sweep finds that the image was released.
    ///
    /// Each part of a slot has a separate array, since reading one field of a combined struct copied all of it.
    struct State {
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
    struct Limits {
        var cost: Int
        var count: Int
    }
}

extension MemoryCache.State {
    /// The image of a slot; `nil` once an evicted image was released.
    func image(at index: Int) -> WebImage? {
        images[index] ?? evicted[index].storage.map(WebImage.init(storage:))
    }

    func isSameSize(_ index: Int, _ other: WebImage) -> Bool {
        guard let mine = image(at: index) else { return true }
        return mine.decodedSize == other.decodedSize
    }

    /// Whether the lifetime of an image is over. Few images have terms, so the clock is rarely read.
    func isExpired(_ index: Int) -> Bool { terms[index]?.isOver ?? false }

    mutating func removeExpired() -> [WebImage] {
        var released: [WebImage] = []
        for index in slots.indices where isExpired(index) { released += removeSlot(index) }
        return released
    }

    mutating func insert(_ entry: MemoryEntry) {
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

    var keptCount: Int { slots.count - free.count - evictedCount }

    mutating func evict(downTo limits: MemoryCache.Limits) -> [WebImage] {
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

    mutating func removeSlot(_ index: Int) -> [WebImage] {
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

    mutating func linkFirst(_ index: Int) {
        links[index] = MemoryCache.Links(previous: -1, next: head)
        if head >= 0 { links[head].previous = index }
        head = index
        if tail < 0 { tail = index }
    }

    mutating func unlink(_ index: Int) {
        let (previous, next) = (links[index].previous, links[index].next)
        if previous >= 0 { links[previous].next = next } else { head = next }
        if next >= 0 { links[next].previous = previous } else { tail = previous }
    }
}
