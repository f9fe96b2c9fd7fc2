import Glibc
import Synchronization

/// Adds up the time that the library itself takes on the main thread, for those who measure frames: tests, benchmarks,
/// the gallery. Off by default; then a call costs the look at a flag.
package enum MainThreadMeter {
    private struct State {
        var nanoseconds: UInt64 = 0
        var longest: UInt64 = 0
        /// Calls within calls count once.
        var depth = 0
    }

    private static let isOn = Atomic(false)
    private static let state = Mutex(State())

    /// Begins to measure, from nothing.
    package static func start() {
        state.withLock { $0 = State() }
        isOn.store(true, ordering: .relaxed)
    }

    /// What was taken since the last call, in seconds.
    package static func take() -> Double {
        state.withLock { state in
            defer { state.nanoseconds = 0 }
            return Double(state.nanoseconds) / 1_000_000_000
        }
    }

    /// The longest single piece of work since the start, in seconds.
    package static var longest: Double { state.withLock { Double($0.longest) / 1_000_000_000 } }

    /// Measures work on the main thread.
    package static func measure<T>(_ body: () throws -> T) rethrows -> T {
        guard isOn.load(ordering: .relaxed) else { return try body() }
        let isOutermost = state.withLock { state in
            state.depth += 1
            return state.depth == 1
        }
        let start = isOutermost ? now : 0
        defer {
            let elapsed = isOutermost ? now - start : 0
            state.withLock { state in
                state.depth -= 1
                state.nanoseconds += elapsed
                state.longest = max(state.longest, elapsed)
            }
        }
        return try body()
    }

    /// Of this thread alone: what others take meanwhile does not count.
    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
