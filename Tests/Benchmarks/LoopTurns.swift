internal import CWebImageGtk4
import Foundation
import Glibc
import GtkWebImage

/// Measures the turns of the main loop: the time from the end of a wait for events to the beginning of the next one, less the
/// time for which the main thread could run and other threads had the processors (the second number of
/// /proc/thread-self/schedstat, Documentation/scheduler/sched-stats.rst). What is left is work of the main thread, and waits for
/// locks and files: what the library can do something about.
@MainActor
enum LoopTurns {
    /// The milliseconds of each turn since `begin()`.
    private static var turns: [Double] = []
    /// The most milliseconds of a turn that were the library's.
    private static var longestOwn = 0.0
    private static var start: (time: Double, waiting: Double)?
    private static let file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)

    static func begin() {
        precondition(file >= 0, "This kernel counts no waits for processors (CONFIG_SCHED_INFO)")
        MainThreadMeter.start()
        (turns, longestOwn, start) = ([], 0, now())
        g_main_context_set_poll_func(nil) { descriptors, count, timeout in
            MainActor.assumeIsolated { LoopTurns.endTurn() }
            let result = g_poll(descriptors, count, timeout)
            MainActor.assumeIsolated { LoopTurns.start = LoopTurns.now() }
            return result
        }
    }

    static func end() -> (turns: [Double], longestOwn: Double) {
        g_main_context_set_poll_func(nil, nil)
        return (turns, longestOwn)
    }

    private static func endTurn() {
        guard let start else { return }
        let now = now()
        turns.append(max(now.time - start.time - (now.waiting - start.waiting), 0))
        longestOwn = max(longestOwn, MainThreadMeter.take() * 1000)
    }

    /// Both times in milliseconds.
    private static func now() -> (time: Double, waiting: Double) {
        var text = [UInt8](repeating: 0, count: 64)
        let count = max(pread(file, &text, text.count, 0), 0)
        let numbers = String(decoding: text.prefix(count), as: UTF8.self).split(separator: " ").compactMap {
            Double($0)
        }
        return (Double(g_get_monotonic_time()) / 1000, numbers.count > 1 ? numbers[1] / 1e6 : 0)
    }
}
