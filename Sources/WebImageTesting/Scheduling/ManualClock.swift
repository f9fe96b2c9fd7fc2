package import FoundationEssentials
import Synchronization
import WebImageCore

/// A clock that stands still until a test turns it: what is fresh, what is tried again later, what is remembered goes
/// by it, in a manager that WebImageCore/ImageManager/testing(_:clock:_:) makes. From any thread.
public final class ManualClock {
    private struct State {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var waiting: [(due: Date, work: @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())

    /// Makes a clock that stands at some day in 2027.
    public init() {}

    /// How long until each piece of work that waits, in seconds, the next one first.
    public var pauses: [Double] {
        state.withLock { state in state.waiting.map { $0.due.timeIntervalSince(state.now) }.sorted() }
    }

    /// Turns it, and does what is due, in order.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now.addTimeInterval(duration / .seconds(1))
            let now = state.now
            defer { state.waiting.removeAll { $0.due <= now } }
            return state.waiting.filter { $0.due <= now }.sorted { $0.due < $1.due }
        }
        for piece in due { piece.work() }
    }
}

extension ManualClock: TimeKeeping {
    package var now: Date { state.withLock { $0.now } }

    package func run(after delay: Duration, _ work: @escaping @Sendable () -> Void) {
        state.withLock { $0.waiting.append(($0.now.addingTimeInterval(delay / .seconds(1)), work)) }
    }
}
