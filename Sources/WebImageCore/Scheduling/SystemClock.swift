import Dispatch
package import FoundationEssentials
import Synchronization

/// The clock of the system.
package struct SystemClock: TimeKeeping {
    package init() {}

    package var now: Date { Date() }

    package func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) { Timers.add(delay, work) }
}

/// Timers on a thread that exists while any is pending. Their work may wait, so other threads do it. Dispatch has timers, too, but the
/// first use of its global queues starts one that wakes the process every second from then on (libdispatch, src/event/workqueue.c).
private enum Timers {
    private struct Timer {
        let due: SuspendingClock.Instant
        let work: @Sendable () -> Void
    }

    private struct State {
        /// In the order in which they are due.
        var pending: [Timer] = []
        var hasThread = false
    }

    private static let queue = WorkQueue(name: "gwi-delayed", threadCount: 4)
    private static let state = Mutex(State())
    /// Signalled when another timer is due first.
    private static let signal = DispatchSemaphore(value: 0)

    static func add(_ delay: Duration, _ work: @escaping @Sendable () -> Void) {
        let due = SuspendingClock.now + delay.bounded
        let (isFirst, hasThread) = state.withLock { state in
            let index = (state.pending.lastIndex { $0.due <= due } ?? -1) + 1
            state.pending.insert(Timer(due: due, work: work), at: index)
            defer { state.hasThread = true }
            return (index == 0, state.hasThread)
        }
        if hasThread {
            if isFirst { signal.signal() }
        } else if case let code = startDetachedThread(run), code != 0 {
            state.withLock { $0.hasThread = false }
            WebImageLog.error("Timers wait for the next one, because the system starts no thread (error \(code)).")
        }
    }

    private static func run() {
        nameThisThread("gwi-timers")
        while let (due, pause) = next() {
            for timer in due { queue.submit(timer.work) }
            let nanoseconds = Int(bounded: pause / .nanoseconds(1))
            if due.isEmpty { _ = signal.wait(timeout: .now() + .nanoseconds(nanoseconds)) }
        }
    }

    /// Removes what is due, or tells how long there is nothing to do. Returns `nil` after the last timer, when the thread ends.
    private static func next() -> (due: [Timer], pause: Duration)? {
        let now = SuspendingClock.now
        return state.withLock { state in
            state.hasThread = !state.pending.isEmpty
            guard let first = state.pending.first else { return nil }
            let due = Array(state.pending.prefix { $0.due <= now })
            state.pending.removeFirst(due.count)
            return (due, first.due - now)
        }
    }
}
