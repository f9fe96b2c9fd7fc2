internal import CWebImageGtk4
import WebImageCore

/// The clock that frames go by (g_get_monotonic_time), and timeouts of the main loop.
@MainActor
final class MainLoopClock: PlaybackClock {
    static let shared = MainLoopClock()

    var now: Double { Double(g_get_monotonic_time()) / 1_000_000 }

    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void {
        // Never early: the timeline would find the frame before.
        let call = DelayedCall(after: .seconds(max(time - now, 0) + 0.001), body)
        return { call.cancel() }
    }
}
