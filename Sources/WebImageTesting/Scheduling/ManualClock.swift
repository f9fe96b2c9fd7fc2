package import FoundationEssentials
import Synchronization
import WebImageCore

/// A clock that a test advances. It drives freshness, retries and the failure cache of a manager created by
/// `ImageManager.testing(_:clock:_:)`. You may use it on any thread.
public final class ManualClock {
    private struct State {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var waiting: [(due: Date, work: @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())

    /// Creates a clock that shows a day in 2027.
    public init() {}

    /// The remaining delays of the pending work in seconds, the shortest first.
    public var pendingDelays: [Double] {
        state.withLock { state in state.waiting.map { $0.due.timeIntervalSince(state.now) }.sorted() }
    }

    /// Advances the clock and runs the work that is due, in order.
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
