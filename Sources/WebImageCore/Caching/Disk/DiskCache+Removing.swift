import FoundationEssentials
import Synchronization

// How entries are removed, and kept from being written.
extension DiskCache {
    package func remove(_ key: String) {
        var dropped = state.withLock { $0.drop(key) }
        writing.withLock { _ in
            // It may have been changed by update(_:) in between.
            dropped += state.withLock { $0.drop(key) }
            attempt { try files.remove(filePath(for: key)) }
        }
        for completion in dropped { completion(.removed) }
    }

    package func removeAll() {
        let dropped = state.withLock { state in
            // Another process may store at the same time, so that the next write counts.
            state.size = nil
            let refused = exchange(&state.refused, with: [:]).values.flatMap(\.completions)
            return state.staged.removeAll() + refused
        }
        writing.withLock { _ in attempt { try files.removeTree(directory) } }
        for completion in dropped { completion(.removed) }
    }

    package func removeExpired() { trim() }

    /// Removes all variants of a base key.
    func removeVariants(of base: String) {
        outdateVariants(of: base)
        removeOutdatedVariants(of: base)
    }

    /// Hides all variants of a base key, because they are of an image that is no longer there; the next flush() removes
    /// them. Does not block.
    package func outdateVariants(of base: String) {
        let dropped = state.withLock { state in
            state.outdated.insert(base)
            return state.staged.removeVariants(of: base)
        }
        for completion in dropped { completion(.removed) }
    }

    func removeOutdatedVariants(of base: String) {
        let variants = DiskCacheLayout.variants(of: base, hashes)
        writing.withLock { _ in
            for path in files.paths(in: "\(directory)/\(variants.directory)", prefix: variants.namePrefix)
            // Another process, or another manager, is writing those.
            where !path.hasSuffix(DiskCacheLayout.temporarySuffix) {
                attempt { try files.remove(path) }
            }
            state.withLock { _ = $0.outdated.remove(base) }
        }
    }

    /// Removes the file of a key whose latest entry was refused.
    func removeRefused(_ key: String) {
        guard state.withLock({ $0.refused[key] != nil }) else { return }
        let refusal = writing.withLock { _ -> Refusal? in
            // Another thread may have done so, and written a newer entry since.
            guard state.withLock({ $0.refused[key] != nil }) else { return nil }
            removeFile(of: key)
            return state.withLock { $0.refused.removeValue(forKey: key) }
        }
        for completion in refusal?.completions ?? [] { completion(refusal?.failure) }
    }

    /// Called with the lock of the writers.
    func removeFile(of key: String) {
        let path = filePath(for: key)
        // A disk that is read-only fails for files as well that are not there.
        if files.exists(path) { attempt { try files.remove(path) } }
    }

    /// Whether the file of a key is of an image that is no longer there.
    func isHidden(_ key: String) -> Bool {
        state.withLock { $0.refused[key] != nil || $0.isOutdated(key) }
    }

    func isOutdated(_ key: String) -> Bool { state.withLock { $0.isOutdated(key) } }
}

extension DiskCache.State {
    fileprivate func isOutdated(_ key: String) -> Bool {
        !outdated.isEmpty && outdated.contains(String(CacheKey.parts(of: key).base))
    }

    /// Drops what waits for a key.
    /// - Returns: Who waits for its end.
    fileprivate mutating func drop(_ key: String) -> [DiskCache.Completion] {
        staged.remove(key) + (refused.removeValue(forKey: key)?.completions ?? [])
    }
}
