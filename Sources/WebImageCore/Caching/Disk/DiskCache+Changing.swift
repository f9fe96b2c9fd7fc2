import FoundationEssentials
import Synchronization

// Changes of stored entries.
extension DiskCache {
    /// Changes the entry of a key. No thread of this process replaces or removes it in between.
    /// - Parameter completion: Called as by ``store(_:completion:)``, but only if the entry exists.
    /// - Returns: Whether the entry exists.
    package func update(_ key: String, completion: Completion?, _ change: (inout CacheEntry) -> Void) -> Bool {
        let (isThere, failure) = writing.withLock { _ in
            changeEntry(of: key, known: nil, completion: completion, change)
        }
        if let failure { completion?(failure) }
        return isThere
    }

    /// Changes an entry whose bytes are known, without waiting for a file that is being written.
    package func change(_ known: CacheEntry, _ change: (inout CacheEntry) -> Void) {
        _ = changeEntry(of: known.key, known: known, completion: nil, change)
    }

    private func changeEntry(
        of key: String,
        known: CacheEntry?,
        completion: Completion?,
        _ change: (inout CacheEntry) -> Void
    ) -> (isThere: Bool, StoreFailure?) {
        while true {
            let staged = state.withLock { $0.staged[key] }
            guard var entry = staged?.entry ?? currentEntry(of: key, known: known) else { return (false, nil) }
            change(&entry)
            var failure: StoreFailure?
            // Another thread may have staged or removed the entry; then the loop repeats.
            let isDone = state.withLock { state in
                guard state.staged[key]?.number == staged?.number else { return false }
                failure = stage(entry, isRenewal: true, completion: completion, in: &state)
                return true
            }
            if isDone { return (true, failure) }
        }
    }

    private func currentEntry(of key: String, known: CacheEntry?) -> CacheEntry? {
        guard !isHidden(key) else { return nil }
        if let known, var entry = try? tail(of: filePath(for: key), key: key)?.entryWithoutData,
            entry.storedAt == known.storedAt
        {
            entry.data = known.data
            return entry
        }
        if let entry = storedEntry(for: key) { return entry }
        // A bundled image is copied to keep new metadata of its server. Attachments are not kept: the copy would hide newer
        // versions.
        return known?.isBundled == true ? bundledEntry(for: key) : nil
    }
}
