internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// What of the machine decides whether images move: the user's wish that nothing does, the power saver, memory.
@MainActor
package enum PlaybackEnvironment {
    private struct WeakHub {
        weak var hub: SharedPlayer?
    }

    private static var isStarted = false
    private static var hubs: [WeakHub] = []
    private static var observation: (any AnyObject & Sendable)?
    /// Tests say what the power saver does.
    package static var isPowerSaving: () -> Bool = { NetworkMonitor.shared.status.isPowerSaving }

    static func allows(_ playback: ImagePlayback) -> Bool {
        (playback.ignoresReducedMotion || ReducedMotion.isWanted) && !(playback.pausesInPowerSaver && isPowerSaving())
    }

    static func add(_ hub: SharedPlayer) {
        hubs.removeAll { $0.hub == nil || $0.hub === hub }
        hubs.append(WeakHub(hub: hub))
    }

    static func start() {
        guard !isStarted else { return }
        isStarted = true
        if let settings = gtk_settings_get_default() {
            UnsafeMutableRawPointer(settings).connectNotify("gtk-enable-animations") { reconsider() }
        }
        observation = NetworkMonitor.shared.observe { _ in
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { reconsider() } }
        }
        MemoryMonitor.shared.add { _ in
            SharedPlayer.budget.purge()
            return true
        }
    }

    package static func reconsider() {
        for hub in hubs { hub.hub?.reconsider() }
    }
}
