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

/// The real file system.
package struct FileStore: FileStoring {
    /// The suffix of a file that is being written.
    static let temporarySuffix = ".tmp"

    package init() {}

    package func read(_ path: String, maximumByteCount: Int) throws -> Data {
        try read(pathBytes: Array(path.utf8), maximumByteCount: maximumByteCount)
    }

    /// Reads a whole file whose name need not be UTF-8.
    package func read(pathBytes: [UInt8], maximumByteCount: Int) throws -> Data {
        try readVersion(pathBytes: pathBytes, maximumByteCount: maximumByteCount).data
    }

    /// Reads a whole file whose name need not be UTF-8.
    /// - Returns: The bytes and their version; no version if the file changed during the read.
    func readVersion(pathBytes: [UInt8], maximumByteCount: Int) throws -> (data: Data, version: FileVersion?) {
        let path = String(decoding: pathBytes, as: UTF8.self)
        return try open(pathBytes) { descriptor, status in
            let size = Int(status.st_size)
            guard size <= maximumByteCount else { throw FileError(call: "read", path: path, number: EFBIG) }
            let data = try read(descriptor, from: 0, byteCount: size, path: path)
            var statusAfterwards = stat()
            guard fstat(descriptor, &statusAfterwards) == 0 else { return (data, nil) }
            let version = FileVersion(status)
            return (data, version == FileVersion(statusAfterwards) && data.count == size ? version : nil)
        }
    }

    /// Reads the first bytes of a file whose name need not be UTF-8.
    package func readHead(pathBytes: [UInt8], byteCount: Int) throws -> Data {
        try open(pathBytes) { descriptor, status in
            let count = min(byteCount, Int(status.st_size))
            return try read(descriptor, from: 0, byteCount: count, path: String(decoding: pathBytes, as: UTF8.self))
        }
    }

    package func readTail(_ path: String, byteCount: Int) throws -> (Data, size: Int) {
        try open(Array(path.utf8)) { descriptor, status in
            let size = Int(status.st_size)
            let count = min(byteCount, size)
            return (try read(descriptor, from: size - count, byteCount: count, path: path), size)
        }
    }

    /// Reads a whole file that another program may have replaced by a link to a file of the user.
    /// - Throws: Also ``FileError`` with ELOOP for a symbolic link, and with EMLINK for a file with several hard links.
    package func readUnlinked(_ path: String, maximumByteCount: Int) throws -> Data {
        try open(Array(path.utf8), followsLink: false) { descriptor, status in
            guard status.st_nlink == 1 else { throw FileError(call: "read", path: path, number: EMLINK) }
            let size = Int(status.st_size)
            guard size <= maximumByteCount else { throw FileError(call: "read", path: path, number: EFBIG) }
            return try read(descriptor, from: 0, byteCount: size, path: path)
        }
    }

    package func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private func open<R>(
        _ pathBytes: [UInt8],
        followsLink: Bool = true,
        _ body: (_ descriptor: Int32, _ status: stat) throws -> R
    ) throws -> R {
        let path = String(decoding: pathBytes, as: UTF8.self)
        // O_NONBLOCK keeps a named pipe from blocking the I/O queue; it has no effect on regular files.
        let descriptor = (pathBytes + [0]).withUnsafeBufferPointer { bytes in
            bytes.withMemoryRebound(to: CChar.self) {
                Glibc.open($0.baseAddress!, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (followsLink ? 0 : O_NOFOLLOW))
            }
        }
        guard descriptor >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(call: "fstat", path: path, number: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(call: "read", path: path, number: EINVAL) }
        return try body(descriptor, status)
    }

    /// Reads up to a number of bytes, and fewer if the file has shrunk in the meantime.
    private func read(_ descriptor: Int32, from start: Int, byteCount: Int, path: String) throws -> Data {
        // Data(count:) would write zeros first.
        guard byteCount > 0, let memory = malloc(byteCount) else {
            if byteCount == 0 { return Data() }
            throw FileError(call: "malloc", path: path, number: ENOMEM)
        }
        var filled = 0
        while filled < byteCount {
            let count = pread(descriptor, memory + filled, byteCount - filled, off_t(start + filled))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let number = errno
                free(memory)
                throw FileError(call: "read", path: path, number: number)
            }
            if count == 0 { break }
            filled += count
        }
        return Data(bytesNoCopy: memory, count: filled, deallocator: .free)
    }

    package func write(_ pieces: [Data], to path: String, keepsDate: Bool = false) throws {
        guard Self.allowsFile(of: pieces.reduce(0) { $0 + $1.count }) else {
            throw FileError(call: "write", path: path, number: EFBIG)
        }
        // The temporary file has a unique name and is in the same directory, or rename would not be atomic.
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max))\(Self.temporarySuffix)"
        let descriptor = try create(temporary)
        do {
            defer { close(descriptor) }
            for piece in pieces { try writeAll(piece, to: descriptor, path: temporary) }
            var status = stat()
            if keepsDate, stat(path, &status) == 0 {
                futimens(descriptor, [timespec(tv_sec: 0, tv_nsec: Self.leaveAlone), status.st_mtim])
            }
        } catch {
            unlink(temporary)
            throw error
        }
        guard rename(temporary, path) == 0 else {
            let number = errno
            unlink(temporary)
            throw FileError(call: "rename", path: path, number: number)
        }
    }

    /// Whether a file may have that many bytes (`ulimit -f`). Writing more raises the signal SIGXFSZ, which ends the app.
    package static func allowsFile(of byteCount: Int) -> Bool {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { return true }
        return UInt64(byteCount) <= UInt64(limit.rlim_cur)
    }

    package func remove(_ path: String) throws {
        guard unlink(path) == 0 else { throw FileError(call: "unlink", path: path, number: errno) }
    }

    package func touch(_ path: String) {
        // This updates only atime, which mounts with noatime do not keep. The mtime stays.
        let times = [timespec(tv_sec: 0, tv_nsec: Self.setToNow), timespec(tv_sec: 0, tv_nsec: Self.leaveAlone)]
        utimensat(AT_FDCWD, path, times, 0)
    }

    // UTIME_NOW and UTIME_OMIT (utimensat(2)), which Swift does not import.
    private static let setToNow = (1 << 30) - 1
    private static let leaveAlone = (1 << 30) - 2

    package func files(below directory: String) -> [StoredFile] {
        var files: [StoredFile] = []
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        collect(directory, descriptor, depth: 0, into: &files)
        return files
    }

    package func paths(in directory: String, prefix: String) -> [String] {
        var paths: [String] = []
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        Self.forEachName(in: descriptor) { if $0.hasPrefix(prefix) { paths.append("\(directory)/\($0)") } }
        return paths
    }

    /// - Parameter descriptor: The open directory, which this call closes; negative if it could not be opened.
    private static func forEachName(in descriptor: Int32, _ body: (String) -> Void) {
        guard descriptor >= 0 else { return }
        guard let stream = fdopendir(descriptor) else {
            close(descriptor)
            return
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(cString: $0.bindMemory(to: CChar.self).baseAddress!)
            }
            if name != ".", name != ".." { body(name) }
        }
    }

    /// The depth to which directories are searched. A cache has two levels, so deeper directories do not belong to it.
    private static let maximumDepth = 4

    /// - Parameter descriptor: The open directory, which this call closes. Subdirectories are opened relative to it
    ///   rather than by path, so that a symbolic link cannot lead the search elsewhere.
    private func collect(_ directory: String, _ descriptor: Int32, depth: Int, into files: inout [StoredFile]) {
        Self.forEachName(in: descriptor) { name in
            var status = stat()
            guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return }
            let path = "\(directory)/\(name)"
            switch status.st_mode & S_IFMT {
            case S_IFDIR where depth < Self.maximumDepth:
                let inner = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                collect(path, inner, depth: depth + 1, into: &files)
            case S_IFREG: files.append(StoredFile(path, status))
            default: break
            }
        }
    }

    package func removeTree(_ directory: String) throws {
        guard unlink(directory) != 0, errno != ENOENT else { return }
        guard errno == EISDIR || errno == EPERM else {
            throw FileError(call: "unlink", path: directory, number: errno)
        }
        let descriptor = Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 || errno == ENOENT else { throw FileError(call: "open", path: directory, number: errno) }
        var failure: FileError?
        empty(directory, descriptor, noting: &failure)
        if rmdir(directory) != 0 { Self.note(FileError(call: "rmdir", path: directory, number: errno), in: &failure) }
        if let failure { throw failure }
    }

    /// Removes the contents of a directory, and continues after a failure.
    /// - Parameter descriptor: The open directory, which this call closes. As in `collect`, symbolic links are not followed.
    private func empty(_ directory: String, _ descriptor: Int32, noting failure: inout FileError?) {
        Self.forEachName(in: descriptor) { name in
            guard unlinkat(descriptor, name, 0) != 0 else { return }
            let (number, path) = (errno, "\(directory)/\(name)")
            guard number == EISDIR || number == EPERM else {
                return Self.note(FileError(call: "unlink", path: path, number: number), in: &failure)
            }
            let inner = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            empty(path, inner, noting: &failure)
            if unlinkat(descriptor, name, AT_REMOVEDIR) != 0 {
                Self.note(FileError(call: "rmdir", path: path, number: errno), in: &failure)
            }
        }
    }

    /// Keeps the first real failure. Other processes may remove the same files, and add new ones to a directory.
    private static func note(_ error: FileError, in failure: inout FileError?) {
        guard failure == nil, error.number != ENOENT, error.number != ENOTEMPTY, error.number != EEXIST else { return }
        failure = error
    }

    /// Creates the file, and its directories if they were removed.
    private func create(_ path: String) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var descriptor = Glibc.open(path, flags, 0o600)
        if descriptor < 0, errno == ENOENT, let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) {
            let directory = String(path[..<slash])
            // A new cache creates 256 directories, all of them in one existing directory.
            if mkdir(directory, 0o700) != 0, errno != EEXIST {
                try FileManager.default.createDirectory(
                    atPath: directory,
                    withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700]
                )
            }
            descriptor = Glibc.open(path, flags, 0o600)
        }
        guard descriptor >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        return descriptor
    }

    private func writeAll(_ data: Data, to descriptor: Int32, path: String) throws {
        var written = 0
        while written < data.count {
            let count = data.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + written, data.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileError(call: "write", path: path, number: errno) }
            written += count
        }
    }
}

extension StoredFile {
    fileprivate init(_ path: String, _ status: stat) {
        func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }
        self.init(
            path: path,
            size: Int(status.st_blocks) * 512,
            lastUse: max(seconds(status.st_atim), seconds(status.st_mtim)),
            modified: seconds(status.st_mtim),
            changed: seconds(status.st_ctim)
        )
    }
}
