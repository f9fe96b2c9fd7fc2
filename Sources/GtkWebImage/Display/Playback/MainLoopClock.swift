internal import CWebImageGtk4
import WebImageCore

/// The clock of GTK's frames (g_get_monotonic_time), with timeouts on the main loop.
@MainActor
final class MainLoopClock: PlaybackClock {
    static let shared = MainLoopClock()

    var now: Double { Double(g_get_monotonic_time()) / 1_000_000 }

    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void {
        // One millisecond of slack: called early, the timeline would still find the previous frame.
        let call = DelayedCall(after: .seconds(max(time - now, 0) + 0.001), body)
        return { call.cancel() }
    }
}
