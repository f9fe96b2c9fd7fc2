/// How much a directory of the disk cache holds, and for how long.
package struct DiskLimits: Sendable {
    /// Bytes on disk.
    package var sizeLimit: Int
    /// Seconds.
    package var maximumAge: Double
    package var expiry: CacheExpiry
    /// Directories that are searched after a miss and never written to.
    package var readOnlyDirectories: [String]

    package init(
        sizeLimit: Int,
        maximumAge: Double = 604_800,
        expiry: CacheExpiry = .lastUse,
        readOnlyDirectories: [String] = []
    ) {
        self.sizeLimit = sizeLimit
        self.maximumAge = maximumAge
        self.expiry = expiry
        self.readOnlyDirectories = readOnlyDirectories
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
