import FoundationEssentials
import Glibc
import Synchronization

/// Moves the directories of disk caches below another directory while they are in use.
///
/// A copy is built beside the target, of hard links where the file system allows it, while the caches go on. What has changed since is
/// then brought up to date while nothing is written, and the copy becomes the target by one rename. A process that ends before
/// leaves the old directory as it was, one that ends after it a complete new one.
struct DiskMove {
    /// The caches, whose directories have one parent.
    private let caches: [DiskCache]
    private let source: String
    private let target: String

    /// - Parameter target: The directory that does not exist yet, or is empty. The directories that lead to it are made.
    init(_ caches: [DiskCache], to target: String) throws(MoveFailure) {
        guard let first = caches.first else { throw .noCache }
        self.caches = caches
        source = Self.parent(of: first.directory)
        self.target = try Self.resolved(target)
    }

    private static func parent(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? path
    }

    /// The path without symbolic links in the directories that lead to it, which are made.
    private static func resolved(_ path: String) throws(MoveFailure) -> String {
        var path = path[...]
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        let name = path.split(separator: "/").last ?? ""
        guard path.hasPrefix("/"), !name.isEmpty, name != ".", name != ".." else { throw .invalidTarget(String(path)) }
        let parent = String(path.dropLast(name.count + 1))
        do {
            if !parent.isEmpty {
                try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            }
        } catch {
            throw .failed("\(error)")
        }
        return "\(real(parent.isEmpty ? "/" : parent) ?? parent)/\(name)"
    }

    private static func real(_ path: String) -> String? {
        guard let found = realpath(path, nil) else { return nil }
        defer { free(found) }
        return String(cString: found)
    }

    /// Moves the directories. Blocks.
    func run() throws(MoveFailure) {
        let origin = Self.real(source) ?? source
        guard origin != target else { return }
        guard !target.hasPrefix(origin + "/") else { throw .invalidTarget(target) }
        guard Self.isFree(target) else { throw .targetExists(target) }
        guard !Self.isMountPoint(target) else { throw .mountPoint(target) }
        let copy = DirectoryCopy(beside: target)
        do {
            try copy.make()
            try update(copy)
            let isMoved = try DiskCache.withoutWriting(caches) { () throws(FileError) in
                // Somebody else has moved them in the meantime.
                guard caches.allSatisfy({ Self.parent(of: $0.directory) == source }) else { return false }
                try update(copy)
                try copy.rename(to: target)
                for cache in caches { cache.moved(to: "\(target)/\(Self.name(of: cache))") }
                return true
            }
            guard isMoved else {
                copy.discard()
                return try DiskMove(caches, to: target).run()
            }
        } catch let error as FileError {
            copy.discard()
            // Something was put there or mounted meanwhile, perhaps a directory of the same file system.
            if error.number == EBUSY { throw .mountPoint(target) }
            throw error.isDirectory ? .targetExists(target) : .failed("\(error)")
        } catch let error as MoveFailure {
            throw error
        } catch {
            copy.discard()
            throw .failed("\(error)")
        }
        removeSource()
    }

    /// Makes the copy equal to what the caches have now.
    private func update(_ copy: DirectoryCopy) throws(FileError) {
        for cache in caches { try copy.update(Self.name(of: cache), of: source) }
        try copy.addFile(DiskCacheLayout.tagName, of: source)
    }

    private static func name(of cache: DiskCache) -> Substring { cache.directory.split(separator: "/").last ?? "" }

    /// Whether nothing has that name but possibly an empty directory, which a rename replaces.
    private static func isFree(_ path: String) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return true }
        guard status.st_mode & S_IFMT == S_IFDIR else { return false }
        return (try? FileManager.default.contentsOfDirectory(atPath: path).isEmpty) ?? false
    }

    /// Whether another file system begins in a directory, which a rename cannot replace.
    private static func isMountPoint(_ path: String) -> Bool {
        var (status, above) = (stat(), stat())
        guard lstat(path, &status) == 0, lstat(parent(of: path) + "/", &above) == 0 else { return false }
        return status.st_dev != above.st_dev
    }

    /// Removes what the caches had in the old place, and that itself when nothing else is in it.
    private func removeSource() {
        for cache in caches { try? FileStore().removeTree("\(source)/\(Self.name(of: cache))") }
        guard let rest = try? FileManager.default.contentsOfDirectory(atPath: source),
            rest.allSatisfy({ $0 == DiskCacheLayout.tagName })
        else { return }
        unlink("\(source)/\(DiskCacheLayout.tagName)")
        rmdir(source)
    }
}

/// Why caches are where they were.
enum MoveFailure: Error {
    /// There is no disk cache of the library.
    case noCache
    /// The target is no absolute path, or lies within the cache.
    case invalidTarget(String)
    /// Something is in the place of the target.
    case targetExists(String)
    /// A file system is mounted in the place of the target.
    case mountPoint(String)
    /// A system call has failed.
    case failed(String)

    /// The failure as a caller of the library sees it.
    var error: ImageError {
        let (reason, remedy) =
            switch self {
            case .noCache:
                ("The manager has no disk cache of the library's", "Set ImageManager.Configuration.diskCache.")
            case .invalidTarget(let path):
                ("The cache cannot be moved to '\(path)'", "Name a directory outside of the cache by an absolute path.")
            case .targetExists(let path):
                ("\(path) exists and is not an empty directory", "Name a directory that does not exist yet.")
            case .mountPoint(let path):
                ("A file system is mounted at \(path)", "Name a directory below it, such as \(path)/images.")
            case .failed(let message):
                (
                    "The cache could not be moved (\(message))",
                    "Make room in the target, and make it writable. The cache is where it was."
                )
            }
        return ImageError(.notMoved, url: nil, reason: reason, remedy: remedy)
    }
}
