import GtkWebImage
import Synchronization
import WebImageLinux

/// Keeps the log of a manager on whatever threads the steps happen, and tells the main thread at most once until it looks.
final class LoadObserver: Sendable {
    private struct State {
        var log = LoadLog()
        /// Whether the main thread has been told, and has not looked since.
        var isAwaited = false
    }

    private let state = Mutex(State())
    private let onChange: @MainActor @Sendable () -> Void

    /// - Parameter onChange: Called in a turn of the main loop after a change. The next call comes after a look.
    init(onChange: @escaping @MainActor @Sendable () -> Void) {
        self.onChange = onChange
    }

    /// Observes a manager for as long as the token exists.
    func observe(_ manager: ImageManager) -> ObservationToken {
        manager.observe { [weak self] in self?.add($0) }
    }

    /// The lines, the oldest first.
    func look() -> [LoadLine] {
        state.withLock { state in
            state.isAwaited = false
            return Array(state.log.lines.suffix(LoadLog.limit))
        }
    }

    /// The number of loads that were seen so far.
    var count: Int { state.withLock { $0.log.count } }

    func clear() {
        state.withLock { $0.log.clear() }
    }

    private func add(_ event: LoadTraceEvent) {
        let isFirst = state.withLock { state in
            state.log.add(event)
            defer { state.isAwaited = true }
            return !state.isAwaited
        }
        guard isFirst else { return }
        MainLoopDispatcher.shared.dispatch { [onChange] in MainActor.assumeIsolated { onChange() } }
    }
}
