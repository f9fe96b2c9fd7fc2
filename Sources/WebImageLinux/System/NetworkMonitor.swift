internal import CWebImageGLib
import Synchronization
package import WebImageCore

/// Monitors the network (GNetworkMonitor) and the power saver (GPowerProfileMonitor).
///
/// Both report on the main loop. Until the main loop runs, the machine counts as online, unmetered and not saving power.
package final class NetworkMonitor: NetworkMonitoring {
    /// The monitor of the process. GLib also has only one.
    package static let shared = NetworkMonitor()

    private let current = Mutex(ImageNetworkStatus())
    private let observers = Observers<ImageNetworkStatus>()

    private init() {
        // GLib creates its monitors by calling services on the bus, which may block.
        startOptionalWork {
            _ = g_network_monitor_get_default()
            // The reference is kept, so that the monitor emits signals for the life of the process.
            _ = g_power_profile_monitor_dup_default()
            MainLoopDispatcher.shared.dispatch { self.start() }
        }
    }

    package var status: ImageNetworkStatus { current.withLock { $0 } }

    package func observe(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken {
        observers.add(handler)
    }

    private func start() {
        let network = g_network_monitor_get_default()
        let power = g_power_profile_monitor_dup_default()
        connect(network.map { UnsafeMutableRawPointer($0) }, "network-changed")
        connect(network.map { UnsafeMutableRawPointer($0) }, "notify::network-available")
        connect(network.map { UnsafeMutableRawPointer($0) }, "notify::network-metered")
        connect(power.map { UnsafeMutableRawPointer($0) }, "notify::power-saver-enabled")
        update()
    }

    private func connect(_ object: UnsafeMutableRawPointer?, _ signal: String) {
        guard let object else { return }
        let address = UInt(bitPattern: object)
        // start() calls this function, and the dispatcher runs start() on the main thread.
        MainActor.assumeIsolated {
            _ = UnsafeMutableRawPointer(bitPattern: address)?.connect(signal) { NetworkMonitor.shared.update() }
        }
    }

    private func update() {
        let network = g_network_monitor_get_default()
        let power = g_power_profile_monitor_dup_default()
        defer { power.map { g_object_unref(UnsafeMutableRawPointer($0)) } }
        let status = ImageNetworkStatus(
            isAvailable: g_network_monitor_get_network_available(network) != 0,
            isMetered: g_network_monitor_get_network_metered(network) != 0,
            isPowerSaving: g_power_profile_monitor_get_power_saver_enabled(power) != 0
        )
        current.withLock { $0 = status }
        // Observers are notified even without a change of status, since the network may be another one.
        observers.notify(status)
    }
}
