internal import CWebImageGLib
import Synchronization
package import WebImageCore

/// The monitor of the network (GNetworkMonitor) and of the power saver (GPowerProfileMonitor).
///
/// Both report on the main loop. Until it runs, the machine counts as online, unmetered and not saving power.
package final class NetworkMonitor: NetworkMonitoring {
    /// The only monitor, since GLib has one per process too.
    package static let shared = NetworkMonitor()

    private let current = Mutex(ImageNetworkStatus())
    private let observers = Observers<ImageNetworkStatus>()

    private init() {
        // GLib calls services on the bus to make its monitors, which may block.
        startOptionalWork {
            _ = g_network_monitor_get_default()
            // The monitor is not released, so that it emits signals for the life of the process.
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
        // Called by start(), which the dispatcher runs on the main thread.
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
        // It may be the same in another network.
        observers.notify(status)
    }
}
