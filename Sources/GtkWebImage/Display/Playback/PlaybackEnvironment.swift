import WebImageCore
import WebImageLinux

/// The system settings that pause animations: reduced motion and the power saver. Memory pressure empties their buffers.
@MainActor
package enum PlaybackEnvironment {
    private static var isStarted = false
    private static var players: [Weak<SharedPlayer>] = []
    private static var observations: [ObservationToken] = []
    /// Whether the power saver is on. Tests replace it.
    package static var isPowerSaving: () -> Bool = { NetworkMonitor.shared.status.isPowerSaving }

    static func allows(_ playback: ImagePlayback) -> Bool {
        (playback.ignoresReducedMotion || !ReducedMotion.isRequested)
            && !(playback.pausesInPowerSaver && isPowerSaving())
    }

    /// Adds a player, held weakly, which is told about changes from now on.
    static func add(_ player: SharedPlayer) {
        players.removeAll { $0.object == nil || $0.object === player }
        players.append(Weak(object: player))
    }

    /// Starts observing the settings. Later calls do nothing.
    static func start() {
        guard !isStarted else { return }
        isStarted = true
        ReducedMotion.observe { reconsider() }
        let network = NetworkMonitor.shared.observe { _ in
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { reconsider() } }
        }
        observations = [network, MemoryMonitor.shared.observe { _ in SharedPlayer.budget.purge() }]
    }

    /// Pauses or resumes all animations according to the settings.
    package static func reconsider() {
        for player in players { player.object?.systemSettingsChanged() }
    }
}
