import FoundationEssentials
import Synchronization

// Removes entries, and stops pending writes.
extension DiskCache {
    package func remove(_ key: String) {
        var dropped = state.withLock { $0.drop(key) }
        writing.withLock { _ in
            // update(_:) may have staged the entry again in between.
            dropped += state.withLock { $0.drop(key) }
            attempt { try files.remove(filePath(for: key)) }
        }
        for completion in dropped { completion(.removed) }
    }

    package func removeAll() {
        let dropped = state.withLock { state in
            // Another process may store at the same time, so the next write measures the directory.
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

    func removeOutdatedVariants(of base: String) {
        let variants = DiskCacheLayout.variants(of: base, hashes)
        writing.withLock { _ in
            for path in files.paths(in: "\(directory)/\(variants.directory)", prefix: variants.namePrefix)
            // Another process or manager is writing these files.
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
            // Another thread may have removed the file and written a newer entry.
            guard state.withLock({ $0.refused[key] != nil }) else { return nil }
            removeFile(of: key)
            return state.withLock { $0.refused.removeValue(forKey: key) }
        }
        for completion in refusal?.completions ?? [] { completion(refusal?.failure) }
    }

    /// Removes the file of a key. The caller holds ``writing``.
    func removeFile(of key: String) {
        let path = filePath(for: key)
        // On a read-only disk, removing fails even for files that do not exist.
        if files.exists(path) { attempt { try files.remove(path) } }
    }

    /// Whether the file of a key holds a replaced or removed image.
    func isHidden(_ key: String) -> Bool {
        state.withLock { $0.refused[key] != nil || $0.isOutdated(key) }
    }

    func isOutdated(_ key: String) -> Bool { state.withLock { $0.isOutdated(key) } }
}

extension DiskCache.State {
    fileprivate func isOutdated(_ key: String) -> Bool {
        !outdated.isEmpty && outdated.contains(String(CacheKey.parts(of: key).base))
    }

    /// Drops the pending work of a key.
    /// - Returns: The completions of that work.
    fileprivate mutating func drop(_ key: String) -> [DiskCache.Completion] {
        staged.remove(key) + (refused.removeValue(forKey: key)?.completions ?? [])
    }
}
