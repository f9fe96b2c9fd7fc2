import Dispatch
import Synchronization

/// What happened, in order, from any thread; a test waits for it without sleeping.
public final class EventLog<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])
    private let signal = DispatchSemaphore(value: 0)

    /// Makes an empty log.
    public init() {}

    /// All that happened so far.
    public var all: [Event] { events.withLock { $0 } }

    /// Adds an event.
    public func add(_ event: Event) {
        events.withLock { $0.append(event) }
        signal.signal()
    }

    /// Waits until condition holds of what happened. Blocks the thread; not for the main thread of a GTK program.
    /// - Parameters:
    ///   - seconds: How long to wait at most. Default: 20.
    ///   - condition: What is waited for, asked after each event.
    /// - Returns: Whether it holds.
    @discardableResult
    public func wait(seconds: Double = 20, until condition: ([Event]) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + seconds
        while !condition(all) {
            if signal.wait(timeout: deadline) == .timedOut { return condition(all) }
        }
        return true
    }
}
