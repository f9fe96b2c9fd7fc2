import WebImageCore

/// A clock for animations that stands still until a test turns it.
@MainActor
package final class ManualPlaybackClock: PlaybackClock {
    private var calls: [(id: Int, time: Double, body: @MainActor () -> Void)] = []
    private var lastID = 0
    package private(set) var now = 100.0
    /// How often it has called back.
    package private(set) var wakeups = 0

    package nonisolated init() {}

    package func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void {
        lastID += 1
        let id = lastID
        calls.append((id, time, body))
        return { [weak self] in self?.calls.removeAll { $0.id == id } }
    }

    /// Calls that are to come.
    package var pendingCount: Int { calls.count }

    /// Turns it, call by call.
    package func advance(by seconds: Double) {
        let end = now + seconds
        // Whoever asks for the past is called, but not for ever.
        while wakeups < 100_000, let next = calls.filter({ $0.time <= end + 1e-9 }).min(by: { $0.time < $1.time }) {
            calls.removeAll { $0.id == next.id }
            now = max(now, next.time)
            wakeups += 1
            next.body()
        }
        now = end
    }

    /// Turns it without calling: the machine was busy.
    package func stall(for seconds: Double) { now += seconds }
}
