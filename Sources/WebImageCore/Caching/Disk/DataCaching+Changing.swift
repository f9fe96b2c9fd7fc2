import FoundationEssentials

// What the library's own cache does better than a cache of an app, which has only the public methods.
extension DataCaching {
    private var own: DiskCache? { self as? DiskCache }

    /// Changes an entry that was read before, unless another version has taken its place. What others have changed of it since
    /// stays. Does not block.
    func renew(_ entry: CacheEntry, _ change: (inout CacheEntry) -> Void) {
        if let own {
            own.change(entry) { if $0.storedAt == entry.storedAt { change(&$0) } }
        } else {
            var entry = entry
            change(&entry)
            store(entry)
        }
    }

    /// Stores an entry.
    /// - Parameter completion: Called exactly once, by ``finishWriting(_:_:)`` at the latest.
    func accept(_ entry: CacheEntry, completion: @escaping DiskCache.Completion) {
        if let own { own.store(entry, completion: completion) } else { store(entry) }
    }

    /// Writes an entry that was stored with a completion. May block.
    func finishWriting(_ entry: CacheEntry, _ completion: DiskCache.Completion) {
        waitUntilWritten(entry.key)
        guard own == nil else { return }
        // A cache of the app may keep seconds, or the date of its file.
        let isKept = metadata(for: entry.key).map { $0.storedAt >= entry.storedAt - 1 }
        completion(isKept == true ? nil : .refused)
    }

    /// Puts data of the app to an entry, and calls the completion once that is written. May block.
    func attach(_ data: Data?, to key: String, completion: @escaping DiskCache.Completion) {
        if let own {
            guard own.update(key, completion: completion, { $0.attachment = data }) else {
                return completion(own.hasOnlyBundledFile(key) ? .isBundled : .noEntry)
            }
            own.waitUntilWritten(key)
        } else {
            guard var entry = entry(for: key) else { return completion(.noEntry) }
            entry.attachment = data
            store(entry)
            finishWriting(entry, completion)
        }
    }

    /// Whether accepted entries should be written although there is other work. What a cache of an app holds back is not known.
    var isUrgent: Bool { own?.isWritingUrgent ?? true }

    /// Whether there are entries that only ``write(until:)`` puts on disk.
    var hasUnwrittenEntries: Bool { own?.hasStagedEntries ?? false }

    /// Writes accepted entries. May block.
    /// - Parameter shouldStop: Asked after each entry of the library's own cache.
    /// - Returns: Whether there are more.
    func write(until shouldStop: () -> Bool) -> Bool {
        if let own { return own.flush(until: shouldStop) }
        flush()
        return false
    }
}
