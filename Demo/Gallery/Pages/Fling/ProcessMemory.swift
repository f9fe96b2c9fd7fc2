import Foundation

/// The memory of this program.
enum ProcessMemory {
    /// The bytes of memory that are in use now (proc(5), statm).
    static var byteCount: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }
}
