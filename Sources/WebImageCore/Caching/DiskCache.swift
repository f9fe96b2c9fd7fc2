import FoundationEssentials
import Synchronization

/// Pictures as files in a directory, up to a number of bytes; the least recently used ones are removed first.
///
/// Several processes may share the directory: entries are put in place by rename and checked when they are read, so the
/// worst that can happen is a miss. Failures are logged and never reach a load: a cache that cannot write is one that
/// misses.
package final class DiskCache: DiskCaching {
    private struct State {
        /// Announced entries that are not on disk yet.
        var staged: [String: DiskEntry] = [:]
        var isFlushing = false
        /// Bytes written since the directory was last measured.
        var unmeasured = 0
        var hasMeasured = false
        var loggedFailure = false
    }

    private let directory: String
    private let sizeLimit: Int
    private let store: any FileStoring
    private let hashing: any ContentHashing
    private let now: @Sendable () -> Double
    private let state = Mutex(State())

    /// - Parameters:
    ///   - directory: Made when the first entry is written.
    ///   - sizeLimit: Bytes on disk; trimmed to four fifths of it when it is exceeded.
    ///   - now: Seconds since 1970.
    package init(
        directory: String,
        sizeLimit: Int,
        hashing: any ContentHashing,
        store: any FileStoring = FileStore(),
        now: @escaping @Sendable () -> Double = { Date().timeIntervalSince1970 }
    ) {
        self.directory = directory
        self.sizeLimit = sizeLimit
        self.hashing = hashing
        self.store = store
        self.now = now
    }

    /// Where the entry of `key` is or would be: two letters of the hash as a directory, the hash and the extension of
    /// the URL as the name, so that a file manager opens it.
    package func path(for key: String) -> String {
        let name = hashing.name(for: key)
        return "\(directory)/\(name.prefix(2))/\(name)\(Self.fileExtension(of: key))"
    }

    package func entry(for key: String) -> DiskEntry? {
        if let staged = state.withLock({ $0.staged[key] }) { return staged }
        let path = path(for: key)
        do {
            let file = try store.read(path)
            if let entry = open(file, key: key) {
                store.touch(path)
                return entry
            }
            WebImageLog.notice("Removed a damaged cache file: \(path)")
            try store.remove(path)
        } catch let error as FileError where error.isNotFound {
            return nil
        } catch {
            logOnce(error)
        }
        return nil
    }

    package func stage(_ entry: DiskEntry) {
        state.withLock { $0.staged[entry.metadata.key] = entry }
    }

    package func flush() {
        // One thread writes; what others stage meanwhile is written by it too.
        let isFirst = state.withLock { state in
            defer { state.isFlushing = true }
            return !state.isFlushing
        }
        guard isFirst else { return }
        while let entry = nextStaged() {
            write(entry)
            // Only this very entry is done with; a newer one under its key waits for the next round.
            state.withLock { state in
                if state.staged[entry.metadata.key] == entry { state.staged[entry.metadata.key] = nil }
            }
        }
        trimIfNeeded()
    }

    package func remove(key: String) {
        _ = state.withLock { $0.staged.removeValue(forKey: key) }
        do {
            try store.remove(path(for: key))
        } catch let error as FileError where error.isNotFound {
            return
        } catch {
            logOnce(error)
        }
    }

    package func removeAll() {
        state.withLock { $0.staged.removeAll() }
        do {
            try store.removeTree(directory)
        } catch {
            logOnce(error)
        }
    }

    /// An entry to write; with `nil` the caller has ceased to be the one that writes.
    private func nextStaged() -> DiskEntry? {
        state.withLock { state in
            let entry = state.staged.first?.value
            if entry == nil { state.isFlushing = false }
            return entry
        }
    }

    private func open(_ file: Data, key: String) -> DiskEntry? {
        func open(_ hashing: some ContentHashing) -> DiskEntry? { DiskEntry(file: file, key: key, hashing) }
        return open(hashing)
    }

    private func write(_ entry: DiskEntry) {
        func encode(_ hashing: some ContentHashing) throws -> Data { try entry.encoded(hashing) }
        do {
            let file = try encode(hashing)
            guard file.count <= sizeLimit / 4 else { return }
            try store.write(file, to: path(for: entry.metadata.key))
            state.withLock { $0.unmeasured += file.count }
        } catch {
            logOnce(error)
        }
    }

    /// Measures the directory at the first write and then after each sixteenth of the limit that was written.
    private func trimIfNeeded() {
        let isDue = state.withLock { state in
            guard state.unmeasured > sizeLimit / 16 || !state.hasMeasured && state.unmeasured > 0 else { return false }
            state.unmeasured = 0
            state.hasMeasured = true
            return true
        }
        guard isDue else { return }
        var files = store.files(below: directory)
        removeLeftovers(&files)
        var size = files.reduce(0) { $0 + $1.size }
        guard size > sizeLimit else { return }
        let target = sizeLimit / 5 * 4
        for file in files.sorted(by: { $0.lastUse < $1.lastUse }) where size > target {
            do {
                try store.remove(file.path)
                size -= file.size
            } catch {
                logOnce(error)
            }
        }
    }

    /// Temporary files of processes that were killed while they wrote.
    private func removeLeftovers(_ files: inout [StoredFile]) {
        let old = now() - 3600
        files.removeAll { file in
            guard file.path.hasSuffix(".tmp"), file.lastUse < old else { return false }
            return (try? store.remove(file.path)) != nil
        }
    }

    /// One line for a disk that is full or read-only, not one for each picture.
    private func logOnce(_ error: any Error) {
        let isFirst = state.withLock { state in
            defer { state.loggedFailure = true }
            return !state.loggedFailure
        }
        let message = "The disk cache in \(directory) fails (\(error)); pictures are loaded without it"
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
