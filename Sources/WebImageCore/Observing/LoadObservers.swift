import FoundationEssentials
import Synchronization

/// Who watches the loads of a manager. Costs next to nothing while nobody does.
package final class LoadObservers: Sendable {
    private struct State {
        var handlers: [Int: @Sendable (LoadTraceEvent) -> Void] = [:]
        var lastNumber = 0
    }

    private let isWatched = Atomic(false)
    private let state = Mutex(State())

    package init() {}

    /// - Returns: Ends it when it is released.
    package func add(_ handler: @escaping @Sendable (LoadTraceEvent) -> Void) -> any AnyObject & Sendable {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.handlers[state.lastNumber] = handler
            isWatched.store(true, ordering: .relaxed)
            return state.lastNumber
        }
        return LoadObservation { [weak self] in self?.remove(number) }
    }

    private func remove(_ number: Int) {
        state.withLock { state in
            state.handlers[number] = nil
            isWatched.store(!state.handlers.isEmpty, ordering: .relaxed)
        }
    }

    /// Whether anybody watches.
    var isActive: Bool { isWatched.load(ordering: .relaxed) }

    /// Tells all who watch, within this call.
    func tell(_ url: URL, _ kind: @autoclosure () -> LoadTraceEvent.Kind) {
        guard isActive else { return }
        let step = LoadTraceEvent(kind: kind(), url: url, time: .now)
        for handler in state.withLock({ Array($0.handlers.values) }) { handler(step) }
    }
}

/// Watches as long as it is kept.
private final class LoadObservation: Sendable {
    private let end: @Sendable () -> Void

    init(_ end: @escaping @Sendable () -> Void) {
        self.end = end
    }

    deinit {
        end()
    }
}
