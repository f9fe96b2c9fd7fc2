import Dispatch
import Synchronization

/// A thread-safe log of events, which a test can wait for without sleeping.
public final class EventLog<Event: Sendable>: Sendable {
    private let events = Mutex<[Event]>([])
    private let signal = DispatchSemaphore(value: 0)

    /// Creates an empty log.
    public init() {}

    /// All events so far, in order.
    public var all: [Event] { events.withLock { $0 } }

    /// Appends an event, on any thread.
    public func add(_ event: Event) {
        events.withLock { $0.append(event) }
        signal.signal()
    }

    /// Waits until the events meet a condition. It blocks the thread, so do not call it on the main thread of a GTK
    /// program.
    /// - Parameters:
    ///   - limit: The time limit. Default: two minutes, which only a hang reaches.
    ///   - condition: Evaluated after each event.
    /// - Returns: Whether the condition was met in time.
    @discardableResult
    public func wait(atMost limit: Duration = .seconds(120), until condition: ([Event]) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + limit / .seconds(1)
        while !condition(all) {
            if signal.wait(timeout: deadline) == .timedOut { return condition(all) }
        }
        return true
    }
}
