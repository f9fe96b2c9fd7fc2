import Glibc
import Synchronization

/// Measures the time that the library uses on the main thread, for tests and benchmarks. It covers what GTK and the main loop call;
/// code that calls the library wraps its calls in ``measure(_:)``. While the meter is off, the default, a measurement costs one atomic load.
package enum MainThreadMeter {
    private struct State {
        var nanoseconds: UInt64 = 0
        var longest: UInt64 = 0
        /// The depth of nested measurements. Only the outermost is counted.
        var depth = 0
    }

    private static let isOn = Atomic(false)
    private static let state = Mutex(State())

    /// Resets the meter and turns it on.
    package static func start() {
        state.withLock { $0 = State() }
        isOn.store(true, ordering: .relaxed)
    }

    /// Returns the time used since the last call, in seconds.
    package static func take() -> Double {
        state.withLock { state in
            defer { state.nanoseconds = 0 }
            return Double(state.nanoseconds) / 1_000_000_000
        }
    }

    /// The longest single measurement since the start, in seconds.
    package static var longest: Double { state.withLock { Double($0.longest) / 1_000_000_000 } }

    /// Runs work on the main thread and measures it.
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

    /// The CPU time of this thread in nanoseconds.
    private static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
