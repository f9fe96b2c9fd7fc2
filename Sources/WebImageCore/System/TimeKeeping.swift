package import FoundationEssentials

/// The time of day and timers. Tests replace it with a clock that they advance.
package protocol TimeKeeping: Sendable {
    /// The time of day.
    var now: Date { get }

    /// Runs work after a delay, on any thread.
    func run(after delay: Duration, _ work: @escaping @Sendable () -> Void)
}
