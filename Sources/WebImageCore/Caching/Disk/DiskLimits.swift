import Synchronization

/// The limits of a directory of the disk cache in bytes and age.
package struct DiskLimits: Sendable {
    private let size: MeasuredLimit
    /// Seconds.
    var maximumAge: Double
    var expiry: CacheExpiry
    /// Directories that are searched after a miss and never written to. Their images have no renditions.
    var readOnlyDirectories: [String]

    /// - Parameter sizeLimit: Bytes on disk.
    package init(
        sizeLimit: Int,
        maximumAge: Double = 604_800,
        expiry: CacheExpiry = .lastUse,
        readOnlyDirectories: [String] = []
    ) {
        self.init(
            size: MeasuredLimit(assuming: sizeLimit) { sizeLimit },
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

    /// Bytes on disk: the assumed limit until ``measure()`` has run.
    package var sizeLimit: Int { size.value }

    /// Measures the size limit, which may ask the file system. Called on the I/O queue.
    func measure() { size.measure() }
}

/// A limit that depends on the file system, whose answer may block.
package final class MeasuredLimit: Sendable {
    private let known = Mutex<Int?>(nil)
    private let assumed: Int
    private let find: @Sendable () -> Int

    /// - Parameters:
    ///   - assumed: The limit until it is measured.
    ///   - find: Returns the limit. May block.
    package init(assuming assumed: Int, _ find: @escaping @Sendable () -> Int) {
        self.assumed = assumed
        self.find = find
    }

    var value: Int { known.withLock { $0 } ?? assumed }

    /// Measures the limit. Repeated while hardly anything fits, because a full disk may have room later.
    func measure() {
        let last = known.withLock { $0 } ?? 0
        guard last < max(assumed / 8, 1) else { return }
        let limit = max(find(), last)
        known.withLock { $0 = limit }
    }
}

/// The date that decides when an entry of the disk cache expires, and which entries are removed first if the cache is too large.
public enum CacheExpiry: Sendable, Hashable {
    /// When the entry was last used.
    case lastUse
    /// When the entry was stored.
    case stored
    /// When the entry was last stored, used or renewed by the server.
    case lastChange
}
