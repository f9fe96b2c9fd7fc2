/// How much a directory of the disk cache holds, and for how long.
package struct DiskLimits: Sendable {
    /// Bytes on disk.
    package var sizeLimit: Int
    /// Seconds.
    package var maximumAge: Double
    package var expiry: CacheExpiry
    /// Searched after a miss, never written to.
    package var readOnlyDirectories: [String]

    package init(
        sizeLimit: Int,
        maximumAge: Double = 604_800,
        expiry: CacheExpiry = .access,
        readOnlyDirectories: [String] = []
    ) {
        self.sizeLimit = sizeLimit
        self.maximumAge = maximumAge
        self.expiry = expiry
        self.readOnlyDirectories = readOnlyDirectories
    }
}

/// By which of its dates an entry of the disk cache is too old, and which entries are the oldest.
public enum CacheExpiry: Sendable, Hashable {
    /// When it was used last.
    case access
    /// When it was stored.
    case modification
    /// When anything about it changed: stored, used or renewed by the server.
    case change
}
