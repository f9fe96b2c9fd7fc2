import GtkWebImage
import Synchronization
import WebImageLinux

/// Logs the steps of a manager on any thread, and notifies the main thread once until it reads the log.
final class LoadObserver: Sendable {
    private struct State {
        var log = LoadLog()
        /// Whether the main thread was notified and has not read the log since.
        var isAwaited = false
    }

    private let state = Mutex(State())

    /// Observes a manager until the token is released.
    /// - Parameter onChange: Called on the main loop after a change. ``look()`` enables the next call.
    func observe(_ manager: ImageManager, onChange: @escaping @MainActor @Sendable () -> Void) -> ObservationToken {
        manager.observe { [weak self] event in
            guard self?.isFirst(afterAdding: event) == true else { return }
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { onChange() } }
        }
    }

    /// Reads the lines with the latest starts, in order of their numbers.
    func look() -> [LoadLine] {
        state.withLock { state in
            state.isAwaited = false
            let lines = state.log.lines
            guard lines.count > LoadLog.limit else { return lines }
            // An old line continues with the next load of a URL that keeps failing.
            return lines.sorted { $0.start < $1.start }.suffix(LoadLog.limit).sorted { $0.id < $1.id }
        }
    }

    /// The number of loads since observation began.
    var count: Int { state.withLock { $0.log.count } }

    func clear() {
        state.withLock { $0.log.clear() }
    }

    private func isFirst(afterAdding event: LoadTraceEvent) -> Bool {
        state.withLock { state in
            state.log.add(event)
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
    }
}
