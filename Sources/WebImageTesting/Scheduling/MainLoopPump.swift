internal import CWebImageGLib
import WebImageLinux

/// Runs the GLib main loop from within a test, on the main thread: events, timers, deliveries, and the main actor.
@MainActor
public enum MainLoopPump {
    /// Runs the loop until condition holds, asked after every turn. Sleeps between events.
    /// - Parameters:
    ///   - condition: What is waited for; quick, and without effects.
    ///   - timeout: How long to wait at most. Default: 20 seconds.
    /// - Returns: Whether it holds.
    public static func run(until condition: () -> Bool, timeout: Duration = .seconds(20)) -> Bool {
        // The main actor is served by the loop only once the library is in use; a test may ask before that.
        _ = MainLoopDispatcher.shared
        let end = ContinuousClock.now + timeout
        // Conditions may depend on other threads, which do not wake the loop. At the lowest priority: a condition that
        // takes longer than this would keep GTK from drawing otherwise.
        let timer = g_timeout_add_full(G_PRIORITY_LOW, 5, { _ in gboolean(1) }, nil, nil)
        defer { g_source_remove(timer) }
        while !condition() {
            if ContinuousClock.now > end { return false }
            g_main_context_iteration(nil, 1)
        }
        return true
    }

    /// Runs the loop until it has nothing to do right now.
    public static func runPending() {
        _ = MainLoopDispatcher.shared
        while g_main_context_iteration(nil, 0) != 0 {}
    }
}
