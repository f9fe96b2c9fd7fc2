import FoundationEssentials
import Glibc

/// A copy of cache directories that is built beside its later place. Files of a cache are replaced and never changed, so a hard
/// link is a copy.
final class DirectoryCopy: Sendable {
    private static let suffix = ".moving"
    /// The age in seconds at which a copy is taken for one that a process has left when it was killed.
    private static let abandonedAge = 86_400
    private static let chunkLength = 1 << 20

    private let target: String
    let path: String

    init(beside target: String) {
        self.target = target
        path = "\(Self.prefix(target))\(getpid()).\(UInt32.random(in: 0 ... .max))\(Self.suffix)"
    }

    /// The beginning of the paths of copies for a target.
    private static func prefix(_ target: String) -> String {
        let name = target.split(separator: "/").last ?? ""
        return "\(target.dropLast(name.count)).\(name)."
    }

    /// Makes the directory, and removes those that were left behind.
    func make() throws(FileError) {
        let prefix = Self.prefix(target)
        let parent = prefix.lastIndex(of: "/").map { String(prefix[...$0]) } ?? "/"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] {
            let path = parent + name
            guard path.hasPrefix(prefix), path.hasSuffix(Self.suffix), let status = Self.status(path),
                status.st_mode & S_IFMT == S_IFDIR, status.st_mtim.tv_sec < time(nil) - Self.abandonedAge
            else { continue }
            try? FileStore().removeTree(path)
        }
        try Self.makeDirectory(path)
    }

    func discard() { try? FileStore().removeTree(path) }

    /// Puts the copy in its place, unless something is there.
    func rename(to target: String) throws(FileError) {
        // RENAME_NOREPLACE is not needed: a directory replaces nothing but an empty directory (rename(2)).
        guard Glibc.rename(path, target) == 0 else { throw FileError(call: "rename", path: target, number: errno) }
    }

    /// Makes a directory in the copy equal to that of the same name in another one.
    func update(_ name: Substring, of source: String) throws(FileError) {
        let (from, to) = ("\(source)/\(name)", "\(path)/\(name)")
        // It has no files yet, or another process has moved it.
        guard Self.status(from) != nil else { return }
        try Self.makeDirectory(to)
        var kept: Set<Substring> = []
        for file in FileStore().files(below: from) where !file.path.hasSuffix(FileStore.temporarySuffix) {
            let inner = file.path.dropFirst(from.count + 1)
            if let slash = inner.lastIndex(of: "/") { try Self.makeDirectory("\(to)/\(inner[..<slash])") }
            if try copy(file.path, to: "\(to)/\(inner)") { kept.insert(inner) }
        }
        for file in FileStore().files(below: to) where !kept.contains(file.path.dropFirst(to.count + 1)) {
            unlink(file.path)
        }
    }

    /// Makes a file in the copy equal to that of the same name in another directory, if there is one.
    func addFile(_ name: String, of source: String) throws(FileError) {
        _ = try copy("\(source)/\(name)", to: "\(path)/\(name)")
    }

    /// - Returns: Whether the file is there; it may have been removed in the meantime.
    private func copy(_ file: String, to copy: String) throws(FileError) -> Bool {
        guard let status = Self.status(file) else { return false }
        if let existing = Self.status(copy) {
            if Self.isSame(existing, status) { return true }
            unlink(copy)
        }
        if link(file, copy) == 0 { return true }
        switch errno {
        case ENOENT: return false
        case EXDEV, EPERM, EMLINK, EOPNOTSUPP: return try copyBytes(of: file, to: copy)
        default: throw FileError(call: "link", path: copy, number: errno)
        }
    }

    /// Whether a copy is of the file as it is now: the same file, or one of the same size and date.
    private static func isSame(_ copy: stat, _ file: stat) -> Bool {
        if copy.st_dev == file.st_dev, copy.st_ino == file.st_ino { return true }
        return copy.st_size == file.st_size && copy.st_mtim.tv_sec == file.st_mtim.tv_sec
            && copy.st_mtim.tv_nsec == file.st_mtim.tv_nsec
    }

    private func copyBytes(of file: String, to copy: String) throws(FileError) -> Bool {
        let input = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard input >= 0 else {
            if errno == ENOENT { return false }
            throw FileError(call: "open", path: file, number: errno)
        }
        defer { close(input) }
        var status = stat()
        guard fstat(input, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        guard FileStore.allowsFile(of: Int(status.st_size)) else {
            throw FileError(call: "write", path: copy, number: EFBIG)
        }
        let output = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw FileError(call: "open", path: copy, number: errno) }
        defer { close(output) }
        var chunk = [UInt8](repeating: 0, count: min(Self.chunkLength, max(Int(status.st_size), 1)))
        while true {
            let count = read(input, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileError(call: "read", path: file, number: errno) }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let step = chunk.withUnsafeBytes { write(output, $0.baseAddress! + written, count - written) }
                if step < 0, errno == EINTR { continue }
                guard step > 0 else { throw FileError(call: "write", path: copy, number: errno) }
                written += step
            }
        }
        // The dates say when an entry was used, and whether the copy is of the file as it is.
        futimens(output, [status.st_atim, status.st_mtim])
        // The original goes, so that the copy has to outlast a power failure.
        fsync(output)
        return true
    }

    private static func status(_ path: String) -> stat? {
        var status = stat()
        return lstat(path, &status) == 0 ? status : nil
    }

    private static func makeDirectory(_ path: String) throws(FileError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw FileError(call: "mkdir", path: path, number: errno)
        }
    }
}
