import Synchronization
package import WebImageCore

/// A network whose status a test sets.
package final class ManualNetwork: NetworkMonitoring {
    private let current = Mutex(ImageNetworkStatus())
    private let observers = Observers<ImageNetworkStatus>()

    package init() {}

    package var status: ImageNetworkStatus {
        get { current.withLock { $0 } }
        set {
            current.withLock { $0 = newValue }
            observers.notify(newValue)
        }
    }

    package func observe(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken {
        observers.add(handler)
    }
}
