import Glibc

/// What limits are derived from.
package enum SystemResources {
    /// Bytes of physical memory.
    package static var memorySize: Int {
        max(sysconf(Int32(_SC_PHYS_PAGES)), 1) * max(sysconf(Int32(_SC_PAGESIZE)), 4096)
    }

    /// Bytes that this user may still write where path is or will be.
    package static func freeDiskSize(at path: String) -> Int {
        var status = statvfs()
        var path = path[...]
        while statvfs(path.isEmpty ? "/" : String(path), &status) != 0 {
            guard let slash = path.lastIndex(of: "/") else { return 0 }
            path = path[..<slash]
        }
        return Int(status.f_bavail) * Int(status.f_frsize)
    }

    /// Processors that this process may use.
    package static var processorCount: Int {
        max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    }
}
