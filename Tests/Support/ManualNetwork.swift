import Synchronization
package import WebImageCore

/// A network monitor whose status a test sets.
package final class ManualNetwork: NetworkMonitoring {
    private final class Observation: Sendable {}

    private struct State {
        var status = NetworkStatus()
        var observers: [@Sendable (NetworkStatus) -> Void] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var status: NetworkStatus {
        get { state.withLock { $0.status } }
        set {
            let observers = state.withLock { state in
                state.status = newValue
                return state.observers
            }
            for observer in observers { observer(newValue) }
        }
    }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable {
        state.withLock { $0.observers.append(handler) }
        return Observation()
    }
}
