import Glibc

extension FileStore {
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
