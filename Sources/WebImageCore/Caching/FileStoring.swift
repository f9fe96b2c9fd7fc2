package import FoundationEssentials

/// What the disk cache needs of a file system; tests put a faulty one in its place.
package protocol FileStoring: Sendable {
    func read(_ path: String) throws -> Data
    /// The last bytes of a file, and the number of all of them.
    func readTail(_ path: String, byteCount: Int) throws -> (Data, size: Int)
    func exists(_ path: String) -> Bool
    /// Puts a file in place in one step, so that a reader sees the old one, the new one, or none.
    func write(_ pieces: [Data], to path: String) throws
    func remove(_ path: String) throws
    /// Marks a file as used now.
    func touch(_ path: String)
    /// All regular files below a directory.
    func files(below directory: String) -> [StoredFile]
    func removeTree(_ directory: String) throws
}

/// A file as trimming sees it.
package struct StoredFile: Sendable {
    package let path: String
    /// Bytes on disk.
    package let size: Int
    /// Seconds since 1970 of the last use.
    package let lastUse: Double
    /// Seconds since 1970 when it was written.
    package let modified: Double
    /// Seconds since 1970 when it was last written or marked.
    package let changed: Double

    package init(path: String, size: Int, lastUse: Double, modified: Double, changed: Double) {
        self.path = path
        self.size = size
        self.lastUse = lastUse
        self.modified = modified
        self.changed = changed
    }
}
