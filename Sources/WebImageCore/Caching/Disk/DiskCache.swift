import FoundationEssentials
import Synchronization

/// A cache of entries as files in a directory, limited in bytes and in age.
///
/// Several processes can share the directory without locks: a rename puts an entry in place and each read checks it, so a race
/// costs at most a miss. Nothing is flushed to the medium (fsync); reads detect entries that a power failure damaged. Failures are
/// logged and counted but never reach a load: a failing cache misses.
package final class DiskCache: DataCaching {
    /// The end of a store, called on any thread: `nil` once the entry is in its file.
    package typealias Completion = @Sendable (StoreFailure?) -> Void

    enum Work {
        case removeVariants(String)
        case removeRefused(String)
        case write(StagedEntries.Element)
    }

    /// Why an entry is not kept, and the completions that wait for its end.
    struct Refusal {
        var failure: StoreFailure
        var completions: [Completion] = []
    }

    struct State {
        /// Base keys whose variants on disk belong to a replaced or removed image.
        var outdated: Set<String> = []
        var staged = StagedEntries()
        /// Keys whose latest entry is not kept, so their files are outdated.
        var refused: [String: Refusal] = [:]
        var isFlushing = false
        /// The bytes of the directory, as last measured, plus the bytes written since.
        var size: Int?
        var lastCount = -Double.infinity
        var failureCount = 0
        var hasLoggedFailure = false
        /// Until this time nothing is written, because the disk is full or read-only.
        var pausedUntil = -Double.infinity
        /// Why writing is paused.
        var lastingFailure: StoreFailure?

        /// The seconds of a pause.
        static let pause = 60.0

        func isPaused(_ now: Double) -> Bool {
            // A time before the start of the pause means that the clock was set back.
            now < pausedUntil && now >= pausedUntil - Self.pause
        }

        mutating func nextWork() -> Work? {
            if let base = outdated.first { return .removeVariants(base) }
            if let key = refused.first?.key { return .removeRefused(key) }
            return staged.first().map { .write($0) }
        }
    }

    /// The limit for bytes of staged entries. Further entries are dropped, since the disk is slower than the network.
    private static let stagedLimit = 64 << 20
    /// More staged bytes than this make writing urgent.
    private static let urgentByteCount = 16 << 20
    private static let tailLength = 2048
    /// The largest file that is read from a read-only directory.
    private static let largestBundledFile = 128 << 20

    package let directory: String
    let limits: DiskLimits
    let files: any FileStoring
    let hashes: CacheHashes
    let now: @Sendable () -> Double
    let state = Mutex(State())
    /// Held while files are put in place or removed, so that an entry removed during its write does not reappear. The main thread
    /// never takes this lock.
    let writing = Mutex(())

    /// - Parameters:
    ///   - directory: The directory, created by the first write.
    ///   - now: Returns seconds since 1970.
    package init(
        directory: String,
        limits: DiskLimits,
        hashes: CacheHashes,
        files: any FileStoring = FileStore(),
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
    ) {
        self.directory = directory
        self.limits = limits
        self.hashes = hashes
        self.files = files
        self.now = now
    }

    package func fileName(for key: String) -> String? { DiskCacheLayout.fileName(for: key, hashes) }

    package func path(for key: String) -> String? { filePath(for: key) }

    package func filePath(for key: String) -> String { "\(directory)/\(DiskCacheLayout.fileName(for: key, hashes))" }

    /// The number of failed system calls, without those for files that do not exist.
    package var failureCount: Int { state.withLock { $0.failureCount } }

    /// Whether less than half of the limit is in use, as far as is known.
    package var isHalfEmpty: Bool { state.withLock { $0.size ?? 0 } < limits.sizeLimit / 2 }

    /// Whether entries or removals wait to be written.
    var hasStagedEntries: Bool { state.withLock { !$0.staged.isEmpty || !$0.refused.isEmpty } }

    /// Whether staged entries should be written even while other work waits.
    var isWritingUrgent: Bool { state.withLock { $0.staged.byteCount > Self.urgentByteCount } }

    package var usage: CacheUsage {
        limits.measure()
        let stored = files.files(below: directory).filter {
            DiskCacheLayout.isEntry($0.path) && !$0.path.hasSuffix(DiskCacheLayout.temporarySuffix)
        }
        return CacheUsage(
            count: stored.count,
            byteCount: stored.reduce(0) { $0 + $1.size },
            maximumByteCount: limits.sizeLimit
        )
    }
}

// Reading.
extension DiskCache {
    package func entry(for key: String) -> CacheEntry? {
        if let staged = stagedEntry(key) { return staged }
        guard !isHidden(key) else { return nil }
        return storedEntry(for: key) ?? bundledEntry(for: key)
    }

    package func metadata(for key: String) -> CacheEntry? {
        if var staged = stagedEntry(key) {
            staged.data = Data()
            return staged
        }
        guard !isHidden(key) else { return nil }
        return try? tail(of: filePath(for: key), key: key)?.entryWithoutData
    }

    package func contains(_ key: String) -> Bool {
        stagedEntry(key) != nil || !isHidden(key) && files.exists(filePath(for: key))
            || bundledPaths(for: key).contains { files.exists($0) }
    }

    private func stagedEntry(_ key: String) -> CacheEntry? { state.withLock { $0.staged[key]?.entry } }

    /// The entry in the cache's own directory.
    func storedEntry(for key: String) -> CacheEntry? {
        let path = filePath(for: key)
        // store(_:) accepts no larger entry.
        let largest = (limits.sizeLimit / 4).boundedSum(CacheEntryFile.maximumMetadataLength)
        do {
            guard let file = try read(path, atMost: largest) else { return nil }
            if let entry = parsed(file, key) {
                files.touch(path)
                return entry
            }
        } catch {
            // A file above the limit is removed unread.
        }
        WebImageLog.notice("Removed a damaged cache file: \(path)")
        attempt { try files.remove(path) }
        return nil
    }

    /// The entry in a read-only directory, which may also hold plain image files.
    func bundledEntry(for key: String) -> CacheEntry? {
        for path in bundledPaths(for: key) {
            guard let file = (try? read(path, atMost: Self.largestBundledFile)) ?? nil else { continue }
            var entry = parsed(file, key) ?? CacheEntry(key: key, data: file, storedAt: .distantPast)
            entry.isBundled = true
            return entry
        }
        return nil
    }

    /// Whether a key has a file only in a read-only directory.
    func hasOnlyBundledFile(_ key: String) -> Bool {
        !files.exists(filePath(for: key)) && bundledPaths(for: key).contains { files.exists($0) }
    }

    private func bundledPaths(for key: String) -> [String] {
        guard !limits.readOnlyDirectories.isEmpty else { return [] }
        let name = DiskCacheLayout.fileName(for: key, hashes)
        return limits.readOnlyDirectories.map { "\($0)/\(name)" }
    }

    /// Reads a file; `nil` if none exists, or another failure was counted.
    /// - Throws: ``FileError`` if the file is too large.
    private func read(_ path: String, atMost byteCount: Int) throws(FileError) -> Data? {
        var file: Data?
        var excess: FileError?
        attempt {
            do {
                file = try files.read(path, maximumByteCount: byteCount)
            } catch let error as FileError where error.isTooLarge {
                excess = error
            }
        }
        if let excess { throw excess }
        return file
    }

    private func parsed(_ file: Data, _ key: String) -> CacheEntry? {
        (try? CacheEntryFile(tail: file, size: file.count, key: key, hashes))?.entry(file, hashes)
    }

    /// Reads the metadata at the end of a file.
    /// - Parameter key: The key of the entry; `nil` if unknown.
    func tail(of path: String, key: String?) throws -> CacheEntryFile? {
        let (tail, size) = try files.readTail(path, byteCount: Self.tailLength)
        do {
            return try CacheEntryFile(tail: tail, size: size, key: key, hashes)
        } catch {
            let (longer, size) = try files.readTail(path, byteCount: error.byteCount)
            return try CacheEntryFile(tail: longer, size: size, key: key, hashes)
        }
    }
}

// Writing.
extension DiskCache {
    /// Hides all variants of a base key whose image was replaced or removed; the next flush() deletes them. Does not block.
    package func outdateVariants(of base: String) {
        let dropped = state.withLock { state in
            state.outdated.insert(base)
            return state.staged.removeVariants(of: base)
        }
        for completion in dropped { completion(.removed) }
    }

    package func store(_ entry: CacheEntry) { store(entry, completion: nil) }

    /// Accepts an entry. An entry that cannot be kept still replaces the previous one, and readers find neither.
    /// - Parameter completion: Called exactly once, by ``flush()``, ``waitUntilWritten(_:)``, the removal or the replacement of the entry.
    package func store(_ entry: CacheEntry, completion: Completion?) {
        let dropped = state.withLock { state in
            guard let failure = stage(entry, completion: completion, in: &state) else { return [Completion]() }
            var refusal = state.refused[entry.key] ?? Refusal(failure: failure)
            refusal.failure = failure
            if let completion { refusal.completions.append(completion) }
            state.refused[entry.key] = refusal
            return state.staged.remove(entry.key)
        }
        for completion in dropped { completion(.removed) }
    }

    /// Accepts an entry whose bytes are already in its file. If the new metadata cannot be kept, the file stays.
    func storeRenewed(_ entry: CacheEntry) {
        state.withLock { _ = stage(entry, isRenewal: true, completion: nil, in: &$0) }
    }

    /// - Parameter isRenewal: Whether the file already has the same bytes.
    /// - Returns: The failure if the entry is not accepted.
    func stage(
        _ entry: CacheEntry,
        isRenewal: Bool = false,
        completion: Completion?,
        in state: inout State
    ) -> StoreFailure? {
        guard !state.isPaused(now()) else { return state.lastingFailure }
        guard entry.data.count <= largestEntry else { return .tooLarge(limit: largestEntry) }
        guard state.staged.byteCount(with: entry) <= Self.stagedLimit else { return .tooMuchWaits }
        state.staged.insert(entry, isRenewal: isRenewal, completion: completion)
        return nil
    }

    /// The largest image in bytes that the cache keeps.
    var largestEntry: Int { limits.sizeLimit / 4 }
}
