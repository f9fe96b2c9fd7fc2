import FoundationEssentials

// These functions use internals of the library's own cache, and the public methods of any other cache.
extension DataCaching {
    private var own: DiskCache? { self as? DiskCache }

    /// Changes an entry that was read before. The library's own cache keeps a newer version, and other changes made since then. Does
    /// not block.
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
        // A cache of the app may round dates to seconds, or use the date of its file.
        let isKept = metadata(for: entry.key).map { $0.storedAt >= entry.storedAt - 1 }
        completion(isKept == true ? nil : .refused)
    }

    /// Attaches data to an entry, and calls the completion once it is written. May block.
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

    /// Whether accepted entries should be written even while other work waits. Always `true` for a cache of the app, whose backlog
    /// is unknown.
    var isUrgent: Bool { own?.isWritingUrgent ?? true }

    /// Whether entries wait for ``write(until:)``.
    var hasUnwrittenEntries: Bool { own?.hasStagedEntries ?? false }

    /// Writes accepted entries. May block.
    /// - Parameter shouldStop: Called after each entry of the library's own cache.
    /// - Returns: Whether more entries wait.
    func write(until shouldStop: () -> Bool) -> Bool {
        if let own { return own.flush(until: shouldStop) }
        flush()
        return false
    }
}
