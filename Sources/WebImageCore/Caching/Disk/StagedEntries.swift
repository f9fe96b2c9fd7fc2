/// The entries of a disk cache that are not on disk yet.
struct StagedEntries {
    struct Element {
        let entry: CacheEntry
        let number: UInt64
        /// Whether the file already has the same bytes, and only the metadata changes.
        let isRenewal: Bool
        /// Called once the entry, or one that replaced it, is written or dropped.
        let completions: [DiskCache.Completion]
    }

    private var elements: [String: Element] = [:]
    /// The keys by their base. Storing an original removes the staged variants of its key.
    private var keys: [String: [String]] = [:]
    /// The keys, the oldest first.
    private var order: ArraySlice<(key: String, number: UInt64)> = []
    private var serial = Serial()
    private(set) var byteCount = 0

    var isEmpty: Bool { elements.isEmpty }

    subscript(_ key: String) -> Element? { elements[key] }

    /// Adds an entry. It replaces an entry of the same key and inherits its completions.
    mutating func insert(_ entry: CacheEntry, isRenewal: Bool, completion: DiskCache.Completion?) {
        let before = elements[entry.key]
        var completions = before?.completions ?? []
        if let completion { completions.append(completion) }
        let number = serial.next()
        elements[entry.key] = Element(
            entry: entry,
            number: number,
            isRenewal: isRenewal && before?.isRenewal != false,
            completions: completions
        )
        order.append((entry.key, number))
        byteCount += entry.byteCount - (before?.entry.byteCount ?? 0)
        if before == nil { keys[Self.base(of: entry.key), default: []].append(entry.key) }
    }

    /// The staged bytes after an entry would be added.
    func byteCount(with entry: CacheEntry) -> Int {
        byteCount - (elements[entry.key]?.entry.byteCount ?? 0) + entry.byteCount
    }

    /// - Returns: The completions of the entry.
    @discardableResult
    mutating func remove(_ key: String) -> [DiskCache.Completion] {
        guard let removed = elements.removeValue(forKey: key) else { return [] }
        byteCount -= removed.entry.byteCount
        let base = Self.base(of: key)
        keys[base]?.removeAll { $0 == key }
        if keys[base]?.isEmpty == true { keys[base] = nil }
        return removed.completions
    }

    /// Removes all variants of a base key.
    /// - Returns: The completions of the entries.
    mutating func removeVariants(of base: String) -> [DiskCache.Completion] {
        (keys[base] ?? []).flatMap { remove($0) }
    }

    /// - Returns: The completions of the entries.
    mutating func removeAll() -> [DiskCache.Completion] {
        let completions = elements.values.flatMap(\.completions)
        (elements, keys, order, byteCount) = ([:], [:], [], 0)
        return completions
    }

    /// The oldest entry.
    mutating func first() -> Element? {
        while let next = order.first {
            if let element = elements[next.key], element.number == next.number { return element }
            // The entry was written, removed or replaced.
            order.removeFirst()
        }
        return nil
    }

    private static func base(of key: String) -> String { String(CacheKey.parts(of: key).base) }
}

extension CacheEntry {
    /// The approximate memory of the entry: its bytes, its key in several places, and the fields of variable length twice, because
    /// they are also copied into the file.
    fileprivate var byteCount: Int {
        func count(_ text: String?) -> Int { text?.utf8.count ?? 0 }
        var fields = count(response.contentType) + count(response.etag) + count(response.lastModified)
        fields += count(response.cacheControl)
        fields += attachment?.count ?? 0
        fields += response.redirects?.byteCount ?? 0
        for field in response.vary ?? [:] { fields += count(field.key) + count(field.value) }
        return data.count + 4 * key.utf8.count + 2 * fields + 1024
    }
}
