internal import CWebImageGLib
import FoundationEssentials
import Glibc

/// The resources of the machine, from which default limits are derived.
package enum SystemResources {
    /// The physical memory in bytes.
    package static var memorySize: Int {
        max(sysconf(Int32(_SC_PHYS_PAGES)), 1) * max(sysconf(Int32(_SC_PAGESIZE)), 4096)
    }

    /// Returns the bytes that this user may still write at a path, which need not exist yet.
    package static func freeDiskSize(at path: String) -> Int {
        var status = statvfs()
        var path = path[...]
        while statvfs(path.isEmpty ? "/" : String(path), &status) != 0 {
            guard let slash = path.lastIndex(of: "/") else { return 0 }
            path = path[..<slash]
        }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// The number of processors that are online.
    package static var processorCount: Int {
        max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    }
}

/// The default directory of a disk cache: $XDG_CACHE_HOME/<app id>/web-images/<namespace>.
package enum CacheDirectory {
    /// Returns the path for a namespace of this app.
    package static func standard(namespace: String = "default") -> String { "\(root)/\(namespace)" }

    /// The directory of all namespaces of this app.
    static var root: String { "\(String(cString: g_get_user_cache_dir()))/\(applicationName)/web-images" }

    /// The ID of the GApplication, else the name of the program.
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
