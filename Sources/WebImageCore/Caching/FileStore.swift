package import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// What the disk cache needs of a file system; tests put a faulty one in its place.
package protocol FileStoring: Sendable {
    func read(_ path: String) throws -> Data
    /// Puts a file in place in one step, so that a reader sees the old one, the new one, or none.
    func write(_ data: Data, to path: String) throws
    func remove(_ path: String) throws
    /// Marks a file as used now, which is what trimming goes by.
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

    package init(path: String, size: Int, lastUse: Double) {
        self.path = path
        self.size = size
        self.lastUse = lastUse
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

    package var isNotFound: Bool { number == ENOENT || number == ENOTDIR }
    package var description: String { "\(call) \(path): \(String(cString: strerror(number)))" }
}

/// The real file system.
package struct FileStore: FileStoring {
    package init() {}

    package func read(_ path: String) throws -> Data {
        try read(path, maximumByteCount: .max)
    }

    package func read(_ path: String, maximumByteCount: Int) throws -> Data {
        // O_NONBLOCK: a named pipe must not hold the I/O lane; it means nothing for regular files.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw FileError(call: "open", path: path, number: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileError(call: "fstat", path: path, number: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw FileError(call: "read", path: path, number: EINVAL) }
        guard status.st_size <= maximumByteCount else { throw FileError(call: "read", path: path, number: EFBIG) }
        var data = Data(count: Int(status.st_size))
        var filled = 0
        let wanted = data.count
        while filled < wanted {
            let count = data.withUnsafeMutableBytes {
                Glibc.read(descriptor, $0.baseAddress! + filled, wanted - filled)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(call: "read", path: path, number: errno) }
            if count == 0 { break }
            filled += count
        }
        return filled == wanted ? data : data.prefix(filled)
    }

    package func write(_ data: Data, to path: String) throws {
        // A name no other process or thread uses, in the same directory, or rename would not be one step.
        let temporary = "\(path).\(getpid()).\(UInt32.random(in: 0 ... .max)).tmp"
        let descriptor = try create(temporary)
        do {
            defer { close(descriptor) }
            try writeAll(data, to: descriptor, path: temporary)
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

    package func remove(_ path: String) throws {
        guard unlink(path) == 0 else { throw FileError(call: "unlink", path: path, number: errno) }
    }

    package func touch(_ path: String) {
        utimensat(AT_FDCWD, path, nil, 0)
    }

    package func files(below directory: String) -> [StoredFile] {
        names(in: directory).flatMap { name -> [StoredFile] in
            let path = "\(directory)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0 else { return [] }
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                return files(below: path)
            case S_IFREG:
                let lastUse = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
                return [StoredFile(path: path, size: Int(status.st_blocks) * 512, lastUse: lastUse)]
            default:
                return []
            }
        }
    }

    package func removeTree(_ directory: String) throws {
        do {
            try FileManager.default.removeItem(atPath: directory)
        } catch let error as CocoaError where error.code == .fileNoSuchFile {
            return
        }
    }

    private func names(in directory: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    }

    /// Creates the file, and its directories when somebody has removed them.
    private func create(_ path: String) throws -> Int32 {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        var descriptor = open(path, flags, 0o600)
        if descriptor < 0, errno == ENOENT, let slash = path.lastIndex(of: "/") {
            try FileManager.default.createDirectory(
                atPath: String(path[..<slash]),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            descriptor = open(path, flags, 0o600)
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
