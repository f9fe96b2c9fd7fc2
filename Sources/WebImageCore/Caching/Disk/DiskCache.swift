import FoundationEssentials
import Synchronization

/// Entries as files in a directory, up to a number of bytes and an age.
///
/// Several processes may share the directory, without locks: entries are put in place by rename and checked when they
/// are read, so the worst that can happen is a miss. Nothing is synchronised with the disk (fsync): after a loss of
/// power an entry may be damaged, which is found when it is read. Failures are logged and counted, and never reach a
/// load: a cache that cannot write is one that misses.
package final class DiskCache: DataCaching {
    private struct Staged {
        let entry: CacheEntry
        let number: Int
    }

    private struct State {
        /// Entries that are not on disk yet.
        /// URLs whose results on disk are of an image that is no longer there.
        var outdated: Set<String> = []
        var staged: [String: Staged] = [:]
        var stagedBytes = 0
        var lastNumber = 0
        var isFlushing = false
        /// Bytes in the directory as far as is known: those at the last count, and what was written since.
        var size: Int?
        var lastCount = -Double.infinity
        var failureCount = 0
        var loggedFailure = false
        /// Until then nothing is written: the disk is full or read-only.
        var restsUntil = -Double.infinity
    }

    /// Bytes of entries that wait to be written; what comes on top of that, with a disk that is slower than the
    /// network, is not kept.
    private static let stagedLimit = 64 << 20
    private static let tailLength = 2048

    package let directory: String
    let limits: DiskLimits
    let store: any FileStoring
    private let hashing: any ContentHashing
    let now: @Sendable () -> Double
    private let state = Mutex(State())
    /// Held while entries are put in place or removed, so that none is there again that was removed while it was being
    /// written. Never by the main thread.
    private let writing = Mutex(())

    /// - Parameters:
    ///   - directory: Made when the first entry is written.
    ///   - now: Seconds since 1970.
    package init(
        directory: String,
        limits: DiskLimits,
        hashing: any ContentHashing,
        store: any FileStoring = FileStore(),
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
    ) {
        self.directory = directory
        self.limits = limits
        self.hashing = hashing
        self.store = store
        self.now = now
    }

    /// Where the entry of key is or would be: two letters of the hash as a directory, the hash and the extension of
    /// the URL as the name, so that a file manager opens it.
    package func path(for key: String) -> String { "\(directory)/\(fileName(for: key))" }

    /// Calls that failed so far, but for files that are not there.
    package var failureCount: Int { state.withLock { $0.failureCount } }

    /// Whether less than half of the limit is taken, as far as is known.
    package var isHalfEmpty: Bool { state.withLock { $0.size ?? 0 } < limits.sizeLimit / 2 }

    package func entry(for key: String) -> CacheEntry? {
        if let staged = staged(key) { return staged }
        guard !isOutdated(key) else { return nil }
        let path = path(for: key)
        if let entry = entry(for: key, at: path, isOurs: true) {
            store.touch(path)
            return entry
        }
        for other in limits.readOnlyDirectories {
            let path = "\(other)/\(fileName(for: key))"
            if let entry = entry(for: key, at: path, isOurs: false) { return entry }
        }
        return nil
    }

    package func description(of key: String) -> CacheEntry? {
        if var staged = staged(key) {
            staged.data = Data()
            return staged
        }
        guard !isOutdated(key) else { return nil }
        return try? tail(of: path(for: key), key: key)?.description
    }

    package func contains(_ key: String) -> Bool {
        staged(key) != nil || !isOutdated(key) && store.exists(path(for: key))
            || limits.readOnlyDirectories.contains { store.exists("\($0)/\(fileName(for: key))") }
    }

    package func store(_ entry: CacheEntry) {
        state.withLock { state in
            guard now() >= state.restsUntil, entry.data.count <= limits.sizeLimit / 4 else { return }
            let old = state.staged[entry.key]?.entry.data.count ?? 0
            guard state.stagedBytes - old + entry.data.count <= Self.stagedLimit else { return }
            state.lastNumber += 1
            state.staged[entry.key] = Staged(entry: entry, number: state.lastNumber)
            state.stagedBytes += entry.data.count - old
        }
    }

    package func flush() {
        // One thread writes; what others stage meanwhile is written by it too.
        let isFirst = state.withLock { state in
            defer { state.isFlushing = true }
            return !state.isFlushing
        }
        guard isFirst else { return }
        while let work = nextWork() {
            switch work {
            case .remove(let url): removeOutdated(url)
            case .write(let staged): write(staged)
            }
        }
    }

    package func flush(_ key: String) {
        while let staged = state.withLock({ $0.staged[key] }) { write(staged) }
    }

    private func write(_ staged: Staged) {
        if isOutdated(staged.entry.key) { removeOutdated(String(RenditionKey.parts(staged.entry.key).url)) }
        writing.withLock { _ in
            let isWanted = state.withLock { $0.staged[staged.entry.key]?.number == staged.number }
            guard isWanted else { return }
            write(staged.entry)
            // Only this very entry is done with; a newer one under its key waits for the next round.
            state.withLock { state in
                guard state.staged[staged.entry.key]?.number == staged.number else { return }
                state.staged[staged.entry.key] = nil
                state.stagedBytes -= staged.entry.data.count
            }
        }
        trimIfNeeded()
    }

    package func remove(_ key: String) {
        state.withLock { state in
            state.stagedBytes -= state.staged.removeValue(forKey: key)?.entry.data.count ?? 0
        }
        writing.withLock { _ in attempt { try store.remove(path(for: key)) } }
    }

    package func removeAll() {
        state.withLock { state in
            state.staged.removeAll()
            state.stagedBytes = 0
            state.size = 0
        }
        writing.withLock { _ in attempt { try store.removeTree(directory) } }
    }

    package func removeExpired() { trim() }

    package var totals: CacheUsage {
        let files = store.files(below: directory).filter { !$0.path.hasSuffix(".tmp") }
        return CacheUsage(count: files.count, byteCount: files.reduce(0) { $0 + $1.size })
    }
}

// Reading and writing.
extension DiskCache {
    package func fileName(for key: String) -> String {
        let (url, variant) = RenditionKey.parts(key)
        let name = hashing.name(for: String(url))
        let end = variant.map { "-\(hashing.name(for: String($0)).prefix(16))" } ?? Self.fileExtension(of: key)
        return "\(name.prefix(2))/\(name)\(end)"
    }

    /// Removes all results of a URL.
    package func removeVariants(of url: String) {
        outdateVariants(of: url)
        removeOutdated(url)
    }

    /// All results of a URL are of an image that is no longer there: they are not found any more, and gone with the next
    /// flush(). Waits for nobody.
    package func outdateVariants(of url: String) {
        state.withLock { state in
            for key in state.staged.keys where RenditionKey.parts(key).url == url {
                state.stagedBytes -= state.staged.removeValue(forKey: key)?.entry.data.count ?? 0
            }
            state.outdated.insert(url)
        }
    }

    private func removeOutdated(_ url: String) {
        let name = hashing.name(for: url)
        writing.withLock { _ in
            for file in store.files(below: "\(directory)/\(name.prefix(2))") where file.path.contains("/\(name)-") {
                attempt { try store.remove(file.path) }
            }
            _ = state.withLock { $0.outdated.remove(url) }
        }
    }

    private func isOutdated(_ key: String) -> Bool {
        state.withLock { !$0.outdated.isEmpty && $0.outdated.contains(String(RenditionKey.parts(key).url)) }
    }

    private func staged(_ key: String) -> CacheEntry? { state.withLock { $0.staged[key]?.entry } }

    private enum Work {
        case remove(String)
        case write(Staged)
    }

    /// What is to be done next; with nil the caller has ceased to be the one that does it.
    private func nextWork() -> Work? {
        state.withLock { state in
            if let url = state.outdated.first { return .remove(url) }
            if let staged = state.staged.first?.value { return .write(staged) }
            state.isFlushing = false
            return nil
        }
    }

    private func entry(for key: String, at path: String, isOurs: Bool) -> CacheEntry? {
        do {
            let file = try store.read(path)
            let parsed = try CacheEntryFile(tail: file, size: file.count, key: key, hashing)
            if let entry = parsed?.entry(file, hashing) { return entry }
            // In a directory of the app's own, an image as it is will do.
            guard isOurs else { return CacheEntry(key: key, data: file, storedAt: .distantPast) }
            WebImageLog.notice("Removed a damaged cache file: \(path)")
            try store.remove(path)
        } catch let error as FileError where error.isNotFound {
            return nil
        } catch {
            failed(error)
        }
        return nil
    }

    private func tail(of path: String, key: String) throws -> CacheEntryFile? {
        let (tail, size) = try store.readTail(path, byteCount: Self.tailLength)
        do {
            return try CacheEntryFile(tail: tail, size: size, key: key, hashing)
        } catch {
            let (longer, size) = try store.readTail(path, byteCount: error.byteCount)
            return try CacheEntryFile(tail: longer, size: size, key: key, hashing)
        }
    }

    private func write(_ entry: CacheEntry) {
        guard state.withLock({ now() >= $0.restsUntil }) else { return }
        do {
            let pieces = try CacheEntryFile.encode(entry, hashing)
            try store.write(pieces, to: path(for: entry.key))
            // Blocks, as the directory will be measured.
            let size = (pieces.reduce(0) { $0 + $1.count } + 4095) / 4096 * 4096
            state.withLock { state in state.size = state.size.map { $0 + size } }
        } catch {
            failed(error)
            if let error = error as? FileError, error.isLasting { rest(after: error) }
        }
    }

    /// A disk that is full or read-only is left alone for a minute; of a full one half of the cache is given back.
    private func rest(after error: FileError) {
        state.withLock { $0.restsUntil = now() + 60 }
        if error.isNoRoom { trim(toFraction: 0.5) }
    }

    func attempt(_ body: () throws -> Void) {
        do {
            try body()
        } catch let error as FileError where error.isNotFound {
            return
        } catch {
            failed(error)
        }
    }

    /// One line in the log for a disk that is full or read-only, not one for each image.
    private func failed(_ error: any Error) {
        let isFirst = state.withLock { state in
            state.failureCount += 1
            defer { state.loggedFailure = true }
            return !state.loggedFailure
        }
        let message = "The disk cache in \(directory) fails (\(error)); images are loaded without it"
        if isFirst { WebImageLog.error("\(message)") } else { WebImageLog.debug("\(message)") }
    }

    /// The extension of a URL's path, when it is a short plain one.
    private static func fileExtension(of key: String) -> String {
        let path = key.prefix { $0 != "?" && $0 != "#" }
        guard let dot = path.lastIndex(of: "."), !path[dot...].contains("/") else { return "" }
        let letters = path[path.index(after: dot)...]
        guard (1...8).contains(letters.utf8.count), letters.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber) })
        else { return "" }
        return ".\(letters)"
    }
}

// Trimming.
extension DiskCache {
    /// Counts the directory at the first write, once an hour, and when it may have grown too large.
    private func trimIfNeeded() {
        let isDue = state.withLock { state in
            guard let size = state.size else { return true }
            return size > limits.sizeLimit || now() > state.lastCount + 3600 || now() < state.lastCount
        }
        if isDue { trim() }
    }

    private func date(of file: StoredFile) -> Double {
        switch limits.expiry {
        case .access: file.lastUse
        case .modification: file.modified
        case .change: file.changed
        }
    }

    /// Removes what is too old, and then the oldest entries until at most fraction of the limit is left, if there is
    /// more than the limit.
    private func trim(toFraction fraction: Double? = nil) {
        let now = now()
        var files = store.files(below: directory)
        var size = files.reduce(0) { $0 + $1.size }
        func remove(_ file: StoredFile) {
            size -= file.size
            attempt { try store.remove(file.path) }
        }
        files.removeAll { file in
            let date = date(of: file)
            // A clock that was set back leaves files from the future; they are as good as new.
            let isOld = date < now - limits.maximumAge
            // Temporary files of processes that were killed while they wrote.
            let isLeftover = file.path.hasSuffix(".tmp") && file.modified < now - 600
            if isOld || isLeftover { remove(file) }
            return isOld || isLeftover
        }
        if size > limits.sizeLimit || fraction != nil {
            let target = Int(Double(limits.sizeLimit) * 0.8)
            let goal = fraction.map { min(target, Int(Double(size) * $0)) } ?? target
            for file in files.sorted(by: { date(of: $0) < date(of: $1) }) where size > goal { remove(file) }
        }
        state.withLock { state in
            state.size = size
            state.lastCount = now
        }
    }
}
