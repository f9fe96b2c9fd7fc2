package import FoundationEssentials
import Glibc

/// The file system as the disk cache uses it. Tests replace it with a faulty one.
package protocol FileStoring: Sendable {
    /// Reads a whole file.
    /// - Throws: ``FileError`` with EFBIG for a larger file.
    func read(_ path: String, maximumByteCount: Int) throws -> Data
    /// Returns the last bytes of a file and its size in bytes.
    func readTail(_ path: String, byteCount: Int) throws -> (Data, size: Int)
    func exists(_ path: String) -> Bool
    /// Writes a file atomically: a reader sees the old file, the new file, or no file.
    /// - Parameter keepsDate: Whether the file keeps its modification time.
    func write(_ pieces: [Data], to path: String, keepsDate: Bool) throws
    func remove(_ path: String) throws
    /// Sets the access time of a file to now.
    func touch(_ path: String)
    /// Returns all regular files below a directory, which must not be a symbolic link.
    func files(below directory: String) -> [StoredFile]
    /// Returns the paths in a directory whose names begin with a prefix, without a system call for each of them.
    func paths(in directory: String, prefix: String) -> [String]
    /// Removes a directory and everything in it. Files that other processes add during the call may stay, with their directories.
    func removeTree(_ directory: String) throws
}

/// The size and dates of a file, for trimming a cache.
package struct StoredFile: Sendable {
    package let path: String
    /// The size on disk, in bytes.
    package let size: Int
    /// The last use, in seconds since 1970.
    package let lastUse: Double
    /// The last write, in seconds since 1970.
    package let modified: Double
    /// The last write or change of dates, in seconds since 1970.
    package let changed: Double

    package init(path: String, size: Int, lastUse: Double, modified: Double, changed: Double) {
        self.path = path
        self.size = size
        self.lastUse = lastUse
        self.modified = modified
        self.changed = changed
    }
}

/// A failed system call.
package struct FileError: Error, CustomStringConvertible {
    package let call: String
    package let path: String
    package let number: Int32

    package init(call: String, path: String, number: Int32) {
        self.call = call
        self.path = path
        self.number = number
    }

    var isNotFound: Bool { number == ENOENT || number == ENOTDIR }
    var isDirectory: Bool { number == EISDIR || number == ENOTEMPTY || number == EEXIST }
    var isTooLarge: Bool { number == EFBIG }
    var isNoRoom: Bool { number == ENOSPC || number == EDQUOT }
    /// Whether the next call would fail as well.
    var isLasting: Bool { isNoRoom || number == EROFS || number == EACCES || number == EPERM }
    package var description: String { "\(call) \(path): \(String(cString: strerror(number)))" }
}
