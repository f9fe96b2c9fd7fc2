import FoundationEssentials
import Synchronization

// Writes accepted entries, on the I/O queue.
extension DiskCache {
    package func flush() {
        // One thread writes, including entries that other threads stage meanwhile.
        let isFirst = state.withLock { state in
            defer { state.isFlushing = true }
            return !state.isFlushing
        }
        guard isFirst else { return }
        limits.measure()
        while let work = nextWork() {
            perform(work)
        }
    }

    /// Writes accepted entries in their order.
    /// - Parameter shouldStop: Called after each entry.
    /// - Returns: Whether more entries wait.
    func flush(until shouldStop: () -> Bool) -> Bool {
        limits.measure()
        repeat {
            guard let work = state.withLock({ $0.nextWork() }) else { return false }
            perform(work)
        } while !shouldStop()
        return state.withLock { $0.nextWork() != nil }
    }

    private func perform(_ work: Work) {
        switch work {
        case .removeVariants(let base): removeOutdatedVariants(of: base)
        case .removeRefused(let key): removeRefused(key)
        case .write(let staged): write(staged)
        }
    }

    package func waitUntilWritten(_ key: String) {
        removeRefused(key)
        while let staged = state.withLock({ $0.staged[key] }) { write(staged) }
    }

    /// The next thing to write or remove. Once it returns `nil`, the calling thread is no longer the writer.
    private func nextWork() -> Work? {
        state.withLock { state in
            let work = state.nextWork()
            if work == nil { state.isFlushing = false }
            return work
        }
    }

    private func write(_ staged: StagedEntries.Element) {
        if isOutdated(staged.entry.key) {
            removeOutdatedVariants(of: String(CacheKey.parts(of: staged.entry.key).base))
        }
        removeRefused(staged.entry.key)
        let (completions, failure) = writing.withLock { _ -> ([Completion], StoreFailure?) in
            let isWanted = state.withLock { $0.staged[staged.entry.key]?.number == staged.number }
            guard isWanted else { return ([], nil) }
            let failure = write(staged.entry, isRenewal: staged.isRenewal)
            // Readers would find the replaced image again.
            if failure != nil, !staged.isRenewal { removeFile(of: staged.entry.key) }
            // A newer entry may have been staged meanwhile; the next round writes it.
            return state.withLock { state in
                guard state.staged[staged.entry.key]?.number == staged.number else { return ([], nil) }
                return (state.staged.remove(staged.entry.key), failure)
            }
        }
        for completion in completions { completion(failure) }
        trimIfNeeded()
    }

    /// - Returns: The failure if the entry could not be written.
    private func write(_ entry: CacheEntry, isRenewal: Bool) -> StoreFailure? {
        // The limit may have been measured after the entry was accepted.
        guard entry.data.count <= largestEntry else { return .tooLarge(limit: largestEntry) }
        if let failure = state.withLock({ $0.isPaused(now()) ? $0.lastingFailure : nil }) { return failure }
        do {
            let pieces = try CacheEntryFile.encode(entry, hashes)
            let path = filePath(for: entry.key)
            do {
                try files.write(pieces, to: path, keepsDate: isRenewal)
            } catch let error as FileError where error.isDirectory {
                // Another program has created a directory at the path.
                try files.removeTree(path)
                try files.write(pieces, to: path, keepsDate: false)
            }
            // Measuring the directory counts whole blocks as well.
            let size = (pieces.reduce(0) { $0 + $1.count } + 4095) / 4096 * 4096
            state.withLock { state in state.size = state.size.map { $0 + size } }
            return nil
        } catch let failure as StoreFailure {
            return failure
        } catch {
            report(error)
            if let error = error as? FileError, error.isLasting { pause(after: error) }
            return .failed("\(error)")
        }
    }

    /// Pauses writing for a minute because the disk is full or read-only. On a full disk, half of the cache is removed.
    private func pause(after error: FileError) {
        state.withLock { state in
            state.pausedUntil = now() + State.pause
            state.lastingFailure = .failed("\(error)")
        }
        if error.isNoRoom { trim(toFraction: 0.5) }
    }

    func attempt(_ body: () throws -> Void) {
        do {
            try body()
        } catch let error as FileError where error.isNotFound {
            return
        } catch {
            report(error)
        }
    }

    /// Counts a failure. Only the first is logged above debug level, since a full disk fails for every image.
    private func report(_ error: any Error) {
        let isFirst = state.withLock { state in
            state.failureCount += 1
            defer { state.hasLoggedFailure = true }
            return !state.hasLoggedFailure
        }
        let message = "The disk cache in \(directory) fails (\(error)); images are loaded without it"
        if isFirst { WebImageLog.error("\(message)") } else { WebImageLog.debug("\(message)") }
    }
}
