import Synchronization
package import WebImageCore

/// A network whose status a test sets.
package final class ManualNetwork: NetworkMonitoring {
    private let current = Mutex(NetworkStatus())
    private let observers = Observers<NetworkStatus>()

    package init() {}

    package var status: NetworkStatus {
        get { current.withLock { $0 } }
        set {
            current.withLock { $0 = newValue }
            observers.notify(newValue)
        }
    }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> ObservationToken {
        observers.add(handler)
    }
}
