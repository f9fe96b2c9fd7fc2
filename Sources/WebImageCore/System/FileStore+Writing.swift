package import FoundationEssentials
import Glibc

extension FileStore {
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
