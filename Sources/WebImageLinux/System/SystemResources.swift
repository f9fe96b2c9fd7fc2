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
