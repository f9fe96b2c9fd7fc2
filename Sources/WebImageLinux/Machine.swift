import Glibc

/// What limits are derived from.
enum Machine {
    /// Bytes of physical memory.
    static var memorySize: Int {
        max(sysconf(Int32(_SC_PHYS_PAGES)), 1) * max(sysconf(Int32(_SC_PAGESIZE)), 4096)
    }

    /// Processors that this process may use.
    static var processorCount: Int {
        max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1)
    }
}
