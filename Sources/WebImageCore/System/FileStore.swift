package import FoundationEssentials
import Glibc

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
}
