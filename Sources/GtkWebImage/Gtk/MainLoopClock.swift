internal import CWebImageGtk4
import WebImageCore

/// A closure that runs once on the main loop after a delay, unless it is cancelled first.
@MainActor
final class DelayedCall {
    private final class Context {
        var body: (() -> Void)?
    }

    private let context = Context()
    private var source: guint = 0

    init(after delay: Duration, _ body: @escaping () -> Void) {
        context.body = body
        let call: GSourceFunc = { context in
            let context = Unmanaged<Context>.fromOpaque(context!).takeUnretainedValue()
            MainActor.assumeIsolated { context.body.take()?() }
            return 0
        }
        let retained = Unmanaged.passRetained(context).toOpaque()
        let milliseconds = guint(delay.timeoutMilliseconds)
        source = g_timeout_add_full(G_PRIORITY_DEFAULT, milliseconds, call, retained) {
            Unmanaged<Context>.fromOpaque($0!).release()
        }
    }

    /// Cancels the call. Does nothing once the closure has run, because GLib has removed the source by then.
    func cancel() {
        guard context.body.take() != nil else { return }
        g_source_remove(source)
    }
}

/// The clock of GTK's frames (g_get_monotonic_time), with timeouts on the main loop.
@MainActor
final class MainLoopClock: PlaybackClock {
    static let shared = MainLoopClock()

    var now: Double { Double(g_get_monotonic_time()) / 1_000_000 }

    func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void {
        // The slack is one millisecond: in an early call, the timeline would still return the previous frame.
        let call = DelayedCall(after: .bounded(seconds: max(time - now, 0) + 0.001), body)
        return { call.cancel() }
    }
}
