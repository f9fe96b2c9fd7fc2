internal import CWebImageGLib
import WebImageLinux

/// Runs the GLib main loop within a test on the main thread: events, timers, deliveries and the main actor.
@preconcurrency @MainActor
public enum MainLoopPump {
    /// Runs the loop until a condition is met, and sleeps between events.
    /// - Parameters:
    ///   - condition: Evaluated after every turn of the loop. It must be quick and have no side effects.
    ///   - timeout: The time limit. Default: two minutes, which only a hang reaches.
    /// - Returns: Whether the condition was met in time.
    public static func run(until condition: () -> Bool, timeout: Duration = .seconds(120)) -> Bool {
        // Creating the dispatcher also checks, and logs, whether the main actor can run.
        _ = MainLoopDispatcher.shared
        let end = ContinuousClock.now + timeout
        // Conditions may depend on threads that do not wake the loop. The timer has the lowest priority, because otherwise a
        // condition that takes longer than 5 ms would prevent GTK from drawing.
        let timer = g_timeout_add_full(G_PRIORITY_LOW, 5, { _ in gboolean(1) }, nil, nil)
        defer { g_source_remove(timer) }
        while !condition() {
            if ContinuousClock.now > end { return false }
            g_main_context_iteration(nil, 1)
        }
        return true
    }

    /// Runs the loop until no event is pending.
    public static func runPending() {
        _ = MainLoopDispatcher.shared
        while g_main_context_iteration(nil, 0) != 0 {}
    }
}
