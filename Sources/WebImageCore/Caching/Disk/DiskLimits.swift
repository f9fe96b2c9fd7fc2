import Synchronization

/// How much a directory of the disk cache holds, and for how long.
package struct DiskLimits: Sendable {
    private let size: MeasuredLimit
    /// Seconds.
    package var maximumAge: Double
    package var expiry: CacheExpiry
    /// Directories that are searched after a miss and never written to. Their images have no renditions.
    package var readOnlyDirectories: [String]

    /// - Parameter sizeLimit: Bytes on disk.
    package init(
        sizeLimit: Int,
        maximumAge: Double = 604_800,
        expiry: CacheExpiry = .lastUse,
        readOnlyDirectories: [String] = []
    ) {
        self.init(
            size: MeasuredLimit(assuming: sizeLimit) { _ in sizeLimit },
            maximumAge: maximumAge,
            expiry: expiry,
            readOnlyDirectories: readOnlyDirectories
        )
    }

    package init(size: MeasuredLimit, maximumAge: Double, expiry: CacheExpiry, readOnlyDirectories: [String]) {
        self.size = size
        self.maximumAge = maximumAge
        self.expiry = expiry
        self.readOnlyDirectories = readOnlyDirectories
    }

    /// Bytes on disk, as far as is known.
    package var sizeLimit: Int { size.value }

    /// Finds the size limit out, which asks the file system the first time. Called on the I/O queue.
    /// - Parameter directory: That of the cache, which may have been moved since the last call.
    func measure(_ directory: String) { size.measure(directory) }
}

/// A limit that depends on the file system, which may take long to answer.
package final class MeasuredLimit: Sendable {
    private let known = Mutex<(directory: String, limit: Int)?>(nil)
    private let assumed: Int
    private let find: @Sendable (_ directory: String) -> Int

    /// - Parameters:
    ///   - assumed: The limit until it is measured.
    ///   - find: Returns the limit in a directory. It may block.
    package init(assuming assumed: Int, _ find: @escaping @Sendable (_ directory: String) -> Int) {
        self.assumed = assumed
        self.find = find
    }

    package var value: Int { known.withLock { $0?.limit } ?? assumed }

    func measure(_ directory: String) {
        guard known.withLock({ $0?.directory != directory }) else { return }
        let limit = find(directory)
        known.withLock { $0 = (directory, limit) }
    }
}

/// The date by which an entry of the disk cache expires, and by which entries are removed when there are too many.
public enum CacheExpiry: Sendable, Hashable {
    /// When the entry was last used.
    case lastUse
    /// When the entry was stored.
    case stored
    /// When the entry was last stored, used or renewed by the server.
    case lastChange
}
