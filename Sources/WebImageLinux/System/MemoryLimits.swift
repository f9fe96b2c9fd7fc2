import FoundationEssentials
import Glibc

/// The memory limits of this process besides the machine's: the limits of control groups, which containers and services set, and of
/// the address space.
struct MemoryLimits {
    /// The mount point of the control group hierarchies.
    var root = "/sys/fs/cgroup"
    /// The control groups of this process (cgroups(7)).
    var membership = "/proc/self/cgroup"
    /// The kernel's description of the machine's memory (proc(5)).
    var information = "/proc/meminfo"

    /// The memory of the machine in bytes; a gigabyte if the kernel does not report a plausible value. sysconf(3) is unreliable if
    /// sysinfo(2) is denied.
    var machine: Int {
        let text = (try? String(contentsOfFile: information, encoding: .utf8)) ?? ""
        let kilobytes = Int(text.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0
        return kilobytes < 64 << 10 ? 1 << 30 : kilobytes << 10
    }

    /// The lowest limit in bytes; `nil` if there is none.
    var lowest: Int? { (controlGroupLimits + [addressSpaceLimit].compactMap { $0 }).min() }

    /// The limits of the process's groups and their ancestors, in versions 1 and 2.
    private var controlGroupLimits: [Int] {
        guard let text = try? String(contentsOfFile: membership, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").flatMap { line -> [Int] in
            // The number, controllers and path of a hierarchy. In version 2 the number is 0 and the controllers are empty.
            let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3 else { return [] }
            if fields[0] == "0", fields[1].isEmpty {
                return limits(of: fields[2], at: root, names: ["memory.max", "memory.high"])
            }
            guard fields[1].split(separator: ",").contains("memory") else { return [] }
            return limits(of: fields[2], at: "\(root)/memory", names: ["memory.limit_in_bytes"])
        }
    }

    /// In a container, the path may be the host's and not exist; then only the limits of the mounted group count.
    private func limits(of path: Substring, at mount: String, names: [String]) -> [Int] {
        let names = names.map { "/\($0)" }
        var components = path.split(separator: "/").filter { $0 != ".." }
        var limits: [Int] = []
        while true {
            let directory = ([mount] + components.map(String.init)).joined(separator: "/")
            limits += names.compactMap { number(in: directory + $0) }
            guard !components.isEmpty else { return limits }
            components.removeLast()
        }
    }

    /// - Returns: `nil` for "max", and for the huge numbers that mean no limit in version 1.
    private func number(in file: String) -> Int? {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
        return Int(text.prefix { $0.isNumber }).flatMap { $0 > 0 && $0 < 1 << 60 ? $0 : nil }
    }

    /// The limit that `ulimit -v` sets.
    private var addressSpaceLimit: Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { return nil }
        return limit.rlim_cur < 1 << 60 ? Int(limit.rlim_cur) : nil
    }
}
