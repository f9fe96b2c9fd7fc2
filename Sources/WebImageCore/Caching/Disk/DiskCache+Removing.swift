import FoundationEssentials
import Synchronization

// How entries are removed, and kept from being written.
extension DiskCache {
    package func remove(_ key: String) {
        var dropped = state.withLock { $0.staged.remove(key) }
        writing.withLock { _ in
            // It may have been changed by update(_:) in between.
            dropped += state.withLock { $0.staged.remove(key) }
            attempt { try files.remove(filePath(for: key)) }
            attempt { try files.remove("\(directory)/\(DiskCacheLayout.partialName)/\(hashes.name(key))") }
        }
        for completion in dropped { completion(.removed) }
    }

    package func removeAll() {
        let dropped = state.withLock { state in
            // Another process may store at the same time, so that the next write counts.
            state.size = nil
            return state.staged.removeAll()
        }
        writing.withLock { _ in attempt { try files.removeTree(directory) } }
        for completion in dropped { completion(.removed) }
    }

    package func removeExpired() { trim() }

    /// Removes all variants of a base key.
    package func removeVariants(of base: String) {
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
            for path in files.paths(in: "\(directory)/\(variants.directory)", prefix: variants.namePrefix) {
                attempt { try files.remove(path) }
            }
            state.withLock { _ = $0.outdated.remove(base) }
        }
    }

    func isOutdated(_ key: String) -> Bool {
        state.withLock { !$0.outdated.isEmpty && $0.outdated.contains(String(CacheKey.parts(of: key).base)) }
    }
}

extension DiskCache {
    /// Goes on in another directory, and forgets what it knew of the disk before.
    func moved(to directory: String) {
        self.directory = directory
        state.withLock { state in
            state.size = nil
            state.pausedUntil = -.infinity
            state.lastingFailure = nil
            state.hasLoggedFailure = false
        }
    }

    /// Runs a body while none of the caches writes or removes a file. Entries that are stored meanwhile wait.
    static func withoutWriting<R: Sendable>(
        _ caches: [DiskCache],
        _ body: () throws(FileError) -> R
    ) throws(FileError) -> R {
        guard let first = caches.first else { return try body() }
        return try first.writing.withLock { _ throws(FileError) in
            try withoutWriting(Array(caches.dropFirst()), body)
        }
    }
}
