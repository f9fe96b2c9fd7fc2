import Dispatch
package import FoundationEssentials

/// The time of day, and work that is done later; tests put a clock in its place that they turn by hand.
package protocol TimeKeeping: Sendable {
    /// The time of day, as HTTP has it.
    var now: Date { get }

    /// Runs work after delay, on any thread.
    func run(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}

/// The clock of the machine.
package struct SystemClock: TimeKeeping {
    package init() {}

    package var now: Date { Date() }

    package func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        let nanoseconds = Int(max(delay, .zero) / .nanoseconds(1))
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds), execute: work)
    }
}
