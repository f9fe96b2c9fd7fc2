import Synchronization

/// The network of a manager: the network of the machine, unless the app has switched it off.
final class NetworkSwitch: NetworkMonitoring {
    private let machine: any NetworkMonitoring
    private let isOff = Atomic(false)
    private let observers = Observers<ImageNetworkStatus>()
    private let observation = Mutex<ObservationToken?>(nil)
    private let notifications: Mutex<Notifications>

    private struct Notifications {
        var last: ImageNetworkStatus
        /// The changes that observers have not been told yet.
        var pending: [ImageNetworkStatus] = []
        var isNotifying = false
    }

    init(_ machine: any NetworkMonitoring) {
        self.machine = machine
        notifications = Mutex(Notifications(last: machine.status))
        let token = machine.observe { [weak self] _ in self?.notify() }
        observation.withLock { $0 = token }
        // A change from before the observation began is not reported, but its reversal is.
        notify()
    }

    var isOffline: Bool {
        get { isOff.load(ordering: .relaxed) }
        set {
            if isOff.exchange(newValue, ordering: .relaxed) != newValue { notify() }
        }
    }

    var status: ImageNetworkStatus { seenByApp(machine.status) }

    func observe(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken {
        observers.add(handler)
    }

    /// The status, and its changes. A change after the lock is free is reported after the status.
    func updates() -> AsyncStream<ImageNetworkStatus> {
        observers.stream(bufferingNewest: 1) { stream in notifications.withLock { _ = stream.yield($0.last) } }
    }

    /// Tells the observers of a change, in the order of the changes on all threads: one thread at a time notifies, on
    /// behalf of the others as well.
    private func notify() {
        let isFirst = notifications.withLock { notifications in
            let new = status
            guard new != notifications.last else { return false }
            notifications.last = new
            notifications.pending.append(new)
            return !exchange(&notifications.isNotifying, with: true)
        }
        guard isFirst else { return }
        while let next = nextNotification() { observers.notify(next) }
    }

    private func nextNotification() -> ImageNetworkStatus? {
        notifications.withLock { notifications in
            guard notifications.pending.isEmpty else { return notifications.pending.removeFirst() }
            notifications.isNotifying = false
            return nil
        }
    }

    private func seenByApp(_ status: ImageNetworkStatus) -> ImageNetworkStatus {
        guard isOffline else { return status }
        var result = status
        (result.isAvailable, result.isOfflineByApp) = (false, true)
        return result
    }
}
