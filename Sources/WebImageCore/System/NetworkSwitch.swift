import Synchronization

/// The network of a manager: that of the machine, unless the app has switched it off.
final class NetworkSwitch: NetworkMonitoring {
    private let machine: any NetworkMonitoring
    private let isOff = Atomic(false)
    private let observers = Observers<NetworkStatus>()
    private let observation = Mutex<ObservationToken?>(nil)

    init(_ machine: any NetworkMonitoring) {
        self.machine = machine
        let token = machine.observe { [weak self] status in
            guard let self else { return }
            observers.notify(seenByApp(status))
        }
        observation.withLock { $0 = token }
    }

    var isOffline: Bool {
        get { isOff.load(ordering: .relaxed) }
        set {
            if isOff.exchange(newValue, ordering: .relaxed) != newValue { observers.notify(status) }
        }
    }

    var status: NetworkStatus { seenByApp(machine.status) }

    func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> ObservationToken {
        observers.add(handler)
    }

    private func seenByApp(_ status: NetworkStatus) -> NetworkStatus {
        guard isOffline else { return status }
        var result = status
        (result.isAvailable, result.isOfflineByApp) = (false, true)
        return result
    }
}
