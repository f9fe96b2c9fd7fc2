import FoundationEssentials

extension DataCaching {
    /// Changes an entry that was read before, unless another version has taken its place. What others have changed of it since
    /// stays. Does not block.
    func renew(_ entry: CacheEntry, _ change: (inout CacheEntry) -> Void) {
        if let disk = self as? DiskCache {
            disk.change(entry) { if $0.storedAt == entry.storedAt { change(&$0) } }
        } else {
            var entry = entry
            change(&entry)
            store(entry)
        }
    }

    /// Stores an entry.
    /// - Parameter completion: Called exactly once, by ``finishWriting(_:_:)`` at the latest.
    func accept(_ entry: CacheEntry, completion: @escaping DiskCache.Completion) {
        if let disk = self as? DiskCache { disk.store(entry, completion: completion) } else { store(entry) }
    }

    /// Writes an entry that was stored with a completion. May block.
    func finishWriting(_ entry: CacheEntry, _ completion: DiskCache.Completion) {
        waitUntilWritten(entry.key)
        guard !(self is DiskCache) else { return }
        completion(metadata(for: entry.key)?.storedAt == entry.storedAt ? nil : .refused)
    }

    /// Puts data of the app to an entry, and calls the completion once that is written. May block.
    func attach(_ data: Data?, to key: String, completion: @escaping DiskCache.Completion) {
        if let disk = self as? DiskCache {
            guard disk.update(key, completion: completion, { $0.attachment = data }) else {
                return completion(disk.hasOnlyBundledFile(key) ? .isBundled : .noEntry)
            }
            disk.waitUntilWritten(key)
        } else {
            guard var entry = entry(for: key) else { return completion(.noEntry) }
            entry.attachment = data
            store(entry)
            finishWriting(entry, completion)
        }
    }
}
