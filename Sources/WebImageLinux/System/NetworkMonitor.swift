internal import CWebImageGLib
import Dispatch
import Synchronization
package import WebImageCore

/// The monitor of the network (GNetworkMonitor) and of the power saver (GPowerProfileMonitor).
///
/// Both report on the main loop. Until it runs, the machine counts as online, unmetered and not saving power.
package final class NetworkMonitor: NetworkMonitoring {
    private struct State {
        var status = NetworkStatus()
        var observers: [Int: @Sendable (NetworkStatus) -> Void] = [:]
        var lastNumber = 0
    }

    /// Observes as long as it is kept.
    private final class Observation: Sendable {
        private let end: @Sendable () -> Void

        init(_ end: @escaping @Sendable () -> Void) {
            self.end = end
        }

        deinit {
            end()
        }
    }

    /// The only monitor, since GLib has one per process too.
    package static let shared = NetworkMonitor()

    private let state = Mutex(State())

    private init() {
        // GLib calls services on the bus to make its monitors, which may block.
        DispatchQueue.global().async {
            _ = g_network_monitor_get_default()
            // The monitor is not released, so that it emits signals for the life of the process.
            _ = g_power_profile_monitor_dup_default()
            MainLoopDispatcher.shared.dispatch { self.start() }
        }
    }

    package var status: NetworkStatus { state.withLock { $0.status } }

    package func observe(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> any AnyObject & Sendable {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.observers[state.lastNumber] = handler
            return state.lastNumber
        }
        return Observation { [weak self] in
            _ = self?.state.withLock { $0.observers.removeValue(forKey: number) }
        }
    }

    private func start() {
        let network = g_network_monitor_get_default()
        let power = g_power_profile_monitor_dup_default()
        connect(network.map { UnsafeMutableRawPointer($0) }, "notify::network-available")
        connect(network.map { UnsafeMutableRawPointer($0) }, "notify::network-metered")
        connect(power.map { UnsafeMutableRawPointer($0) }, "notify::power-saver-enabled")
        update()
    }

    private func connect(_ object: UnsafeMutableRawPointer?, _ signal: String) {
        guard let object else { return }
        let address = UInt(bitPattern: object)
        // Called by start(), which the dispatcher runs on the main thread.
        MainActor.assumeIsolated {
            _ = UnsafeMutableRawPointer(bitPattern: address)?.connect(signal) { NetworkMonitor.shared.update() }
        }
    }

    private func update() {
        let network = g_network_monitor_get_default()
        let power = g_power_profile_monitor_dup_default()
        defer { power.map { g_object_unref(UnsafeMutableRawPointer($0)) } }
        let status = NetworkStatus(
            isAvailable: g_network_monitor_get_network_available(network) != 0,
            isMetered: g_network_monitor_get_network_metered(network) != 0,
            isPowerSaving: g_power_profile_monitor_get_power_saver_enabled(power) != 0
        )
        let observers = state.withLock { state -> [@Sendable (NetworkStatus) -> Void] in
            guard state.status != status else { return [] }
            state.status = status
            return Array(state.observers.values)
        }
        for observer in observers { observer(status) }
    }
}
