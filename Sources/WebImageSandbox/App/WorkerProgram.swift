import Glibc

/// The programs that decode workers can be started from.
enum WorkerProgram {
    /// The app's own program, even after an update has replaced its file.
    static let own = "/proc/self/exe"
    /// The name of a program that only runs workers and starts faster than an app.
    static let name = "webimage-decoder"

    /// The programs to try, the best first. A program that is installed next to the app's own, or in `../libexec` of its folder, is
    /// used if only root or the user can have put it there, because it gets all rights of the app before it gives them up.
    static func paths(besides program: String? = path(of: own)) -> [String] {
        guard let program, let slash = program.lastIndex(of: "/") else { return [own] }
        let folder = program[..<slash]
        let installed = ["\(folder)/\(name)", "\(folder)/../libexec/\(name)"]
        return installed.filter { access($0, X_OK) == 0 && isTrusted($0) } + [own]
    }

    /// Whether a file belongs to the user or to root, and no one else may write to it.
    private static func isTrusted(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        let isOwn = status.st_uid == 0 || status.st_uid == geteuid()
        // On many systems each user has a private group.
        let isShared =
            status.st_mode & S_IWOTH != 0
            || status.st_mode & S_IWGRP != 0 && status.st_gid != 0 && status.st_gid != getegid()
        return isOwn && !isShared
    }

    private static func path(of link: String) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(link, &buffer, buffer.count)
        guard count > 0 else { return nil }
        let path = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The kernel appends this to the path of a program whose file was removed.
        let removed = " (deleted)"
        return path.hasSuffix(removed) ? String(path.dropLast(removed.count)) : path
    }
}
