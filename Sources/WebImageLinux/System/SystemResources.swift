internal import CWebImageGLib
import FoundationEssentials
import Glibc
package import WebImageCore

/// The resources of the machine, from which default limits are derived.
package enum SystemResources {
    /// The memory in bytes that this process may use: the machine's, or a lower limit.
    package static let memorySize = memorySize(within: MemoryLimits())

    static func memorySize(within limits: MemoryLimits) -> Int {
        min(limits.machine, limits.lowest ?? .max)
    }

    /// The memory that all running loads of this process may use together: a quarter of ``memorySize``, at most a gigabyte.
    /// Decoding an image of 2^27 pixels uses half of the gigabyte.
    package static let loadingBudget = MemoryBudget(
        limit: min(memorySize / 4, MemoryBudget.largestLimit),
        decoderCount: processorCount
    )

    /// The bytes that this user may still write at a path, which need not exist; `nil` if the system does not report them.
    static func freeDiskSize(at path: String) -> Int? {
        var status = statvfs()
        var path = path[...]
        while statvfs(path.isEmpty ? "/" : String(path), &status) != 0 {
            guard let slash = path.lastIndex(of: "/") else { return nil }
            path = path[..<slash]
        }
        guard status.f_blocks > 0 else { return nil }
        return byteCount(blocks: UInt64(status.f_bavail), ofSize: UInt64(status.f_frsize))
    }

    /// The bytes of blocks, clamped, since file systems without a size, such as s3fs, report huge numbers.
    static func byteCount(blocks: UInt64, ofSize size: UInt64) -> Int {
        Int(clamping: blocks.boundedProduct(size))
    }

    /// The number of online processors.
    package static var processorCount: Int {
        max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    }
}

/// The default directory of a disk cache: $XDG_CACHE_HOME/<app id>/web-images/<namespace>.
package enum CacheDirectory {
    /// The path for a namespace of this app.
    static func standard(namespace: String = "default") -> String {
        // A name of the app, such as a user's, must not lead to another directory.
        let name = namespace.replacing("%", with: "%25").replacing("/", with: "%2F")
        return "\(root)/\(name.hasPrefix(".") ? "%2E\(name.dropFirst())" : name)"
    }

    /// The directory of all namespaces of this app.
    static var root: String { "\(ofUser)/\(applicationName)/web-images" }

    /// The directory for copies that other programs open. No namespace has this name.
    package static var opened: String { "\(root)/.opened" }

    /// Removes such copies that are older than a day.
    package static func removeOldCopies() {
        let (store, oldest) = (FileStore(), Date.now.timeIntervalSince1970 - 86_400)
        for path in store.paths(in: opened, prefix: "")
        where store.files(below: path).contains(where: { $0.modified < oldest }) { try? store.removeTree(path) }
    }

    /// Tells backup programs to leave a directory out.
    package static func tag(_ directory: String) throws {
        let path = "\(directory)/\(DiskCacheLayout.tagName)"
        guard !FileStore().exists(path) else { return }
        try FileStore().write([Data(DiskCacheLayout.tag.utf8)], to: path)
    }

    /// The directory of all caches of the user.
    package static var ofUser: String {
        base(text(getenv("XDG_CACHE_HOME")), home: String(cString: g_get_home_dir()))
    }

    /// The value of an environment variable; `nil` if it is not UTF-8. Paths are Swift strings, and a replaced character would name
    /// another directory.
    static func text(_ value: UnsafePointer<CChar>?) -> String? {
        value.flatMap { String(validatingCString: $0) }
    }

    /// The user's directory for caches. A relative path is invalid and ignored (XDG Base Directory Specification), since it would
    /// depend on the working directory; g_get_user_cache_dir accepts it.
    /// - Parameters:
    ///   - cacheHome: The value of XDG_CACHE_HOME.
    ///   - home: The home directory, which GLib reads from the user database if HOME is not set. `/` replaces a relative path, as
    ///     in GLib for a user without a home directory.
    static func base(_ cacheHome: String?, home: String) -> String {
        if let cacheHome, cacheHome.hasPrefix("/") { return cacheHome }
        return home.hasPrefix("/") && home != "/" ? "\(home)/.cache" : "/.cache"
    }

    /// The ID of the GApplication, or the name of the program.
    private static var applicationName: String {
        if let application = g_application_get_default(), let id = g_application_get_application_id(application) {
            return String(cString: id)
        }
        if let name = g_get_prgname() { return String(cString: name) }
        let path = CommandLine.arguments.first ?? ""
        let name = path.split(separator: "/").last.map(String.init)
        return name ?? "GtkWebImage"
    }
}
