internal import CWebImageGLib
internal import CWebImageShims
import Synchronization
import WebImageCore

/// The dispatcher that calls back on the GLib main loop, in order, from one source of the default main context.
///
/// The priority of the source is 115, between GTK's layout (110) and drawing (120), so that a loaded image is part of the next
/// frame. The source runs for at most 2 ms at a time, so that many results do not keep GTK from drawing. The dispatcher also
/// installs ``MainActorBridge``. It may be used from any thread.
package final class MainLoopDispatcher: CallbackDispatching {
    package static let shared = MainLoopDispatcher()

    /// A GSource.
    ///
    /// @unchecked: g_source_set_ready_time, the only call after the source is attached, may come from any thread.
    private struct Source: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<GSource>
    }

    private struct Queue {
        /// An empty queue with more capacity than this releases its memory.
        private static let keptCapacity = 1024

        private var work: [@Sendable () -> Void] = []
        /// The closures added before those in `work`, with the oldest last.
        private var due: [@Sendable () -> Void] = []
        /// Whether the source is due or running.
        private var isAwake = false

        /// - Returns: Whether to wake the source, which takes a lock of GLib that the main thread also takes.
        mutating func push(_ body: @escaping @Sendable () -> Void) -> Bool {
            work.append(body)
            defer { isAwake = true }
            return !isAwake
        }

        /// Whether there is work. If not, the next push wakes the source.
        mutating func isReady() -> Bool {
            isAwake = !work.isEmpty || !due.isEmpty
            return isAwake
        }

        /// Removes the first closure, so that the caller releases its captures.
        mutating func pop() -> (@Sendable () -> Void)? {
            if due.isEmpty {
                swap(&work, &due)
                due.reverse()
                if work.capacity > Self.keptCapacity { work = [] }
            }
            if due.isEmpty { isAwake = false }
            return due.popLast()
        }
    }

    static let priority: Int32 = 115
    /// The microseconds that one run of the dispatcher may last.
    private static let budget = 2000
    /// The microseconds left to GTK after a run that used the budget.
    private static let pause = 500

    private let queue = Mutex(Queue())
    private let source = Mutex<Source?>(nil)

    private init() {
        MainActorBridge.install()
        // The dispatcher lives as long as the process, so the source may refer to it unretained.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let made = gwi_timed_source_new(
            { context in Unmanaged<MainLoopDispatcher>.fromOpaque(context!).takeUnretainedValue().drain() },
            { context in
                Unmanaged<MainLoopDispatcher>.fromOpaque(context!).takeUnretainedValue().hasWorkForNestedLoop() ? 1 : 0
            },
            context,
            Self.priority,
            "GtkWebImage delivery"
        )!
        source.withLock { $0 = Source(pointer: made) }
        g_source_attach(made, nil)
    }

    package var isCurrent: Bool { gwi_is_main_thread() != 0 }

    /// Runs work on the main thread in a later iteration of the main loop.
    package func dispatch(_ work: @escaping @Sendable () -> Void) {
        let wakes = queue.withLock { $0.push(work) }
        if wakes, let source = source.withLock({ $0 }) { g_source_set_ready_time(source.pointer, 0) }
    }

    /// Whether there is work for a main loop that runs inside a closure. If not, the next push wakes the source.
    private func hasWorkForNestedLoop() -> Bool { queue.withLock { $0.isReady() } }

    /// Runs the waiting closures until the time budget is used.
    /// - Returns: The microseconds until the next run; -1 when no work is left.
    private func drain() -> Int {
        let end = g_get_monotonic_time() + Self.budget
        while let work = queue.withLock({ $0.pop() }) {
            MainThreadMeter.measure(work)
            if g_get_monotonic_time() >= end { return Self.pause }
        }
        return -1
    }
}
