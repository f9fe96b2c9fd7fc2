import Foundation
import Glibc
import WebImageLinux
import WebImageSandbox

/// What this process and the workers that decode for it have used. Its other children, such as servers, are not the library's.
enum OwnProcess {
    /// The decode workers and the processes that they are made of. They stay for a minute without work, so that none is missing at the
    /// end of a measurement.
    static var workers: [Int32] {
        guard let sandbox = DecodeSandbox.shared else { return [] }
        return sandbox.processes + sandbox.zygoteProcesses
    }

    /// The seconds for which threads have used a processor.
    static var cpuSeconds: Double {
        // That of a child counts with its parent only once it has ended.
        workers.reduce(seconds(of: CLOCK_PROCESS_CPUTIME_ID)) { sum, worker in
            var clock = clockid_t()
            let own = clock_getcpuclockid(worker, &clock) == 0 ? seconds(of: clock) : 0
            return sum + own + secondsOfEndedChildren(of: worker)
        }
    }

    /// The fields cutime and cstime of proc(5). A worker is replaced after some files, and its zygote waits for it.
    private static func secondsOfEndedChildren(of process: Int32) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ").dropFirst(14).prefix(2)
        return fields.compactMap { Double($0) }.reduce(0, +) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    private static func seconds(of clock: clockid_t) -> Double {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// A number of /proc/self/status in megabytes: VmRSS, the memory; RssAnon, that without the pages of files and of what is shared;
    /// VmHWM, the most that VmRSS has been. Not that of getrusage(), which counts what the parent had when it started this program.
    static func megabytes(_ name: String) -> Double { megabytes(name, in: "/proc/self/status") }

    /// The megabytes in use: without the pages of files, which the kernel can drop, and with those that workers have written pixels to.
    static var memory: Double {
        workers.reduce(megabytes("RssAnon") + megabytes("RssShmem")) { $0 + privateMegabytes(of: $1) }
    }

    /// The memory that a process shares with no other.
    static func privateMegabytes(of process: Int32) -> Double {
        let path = "/proc/\(process)/smaps_rollup"
        return megabytes("Private_Clean", in: path) + megabytes("Private_Dirty", in: path)
    }

    private static func megabytes(_ name: String, in path: String) -> Double {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return (line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) } ?? 0) / 1024
    }
}
