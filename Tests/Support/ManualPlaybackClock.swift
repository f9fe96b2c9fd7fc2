import WebImageCore

/// A playback clock that stands still until a test advances it.
@MainActor
package final class ManualPlaybackClock: PlaybackClock {
    private var calls: [(id: Int, time: Double, body: @MainActor () -> Void)] = []
    private var lastID = 0
    package private(set) var now = 100.0
    /// The number of callbacks so far.
    package private(set) var wakeups = 0

    package nonisolated init() {}

    package func call(at time: Double, _ body: @escaping @MainActor () -> Void) -> @MainActor () -> Void {
        lastID += 1
        let id = lastID
        calls.append((id, time, body))
        return { [weak self] in self?.calls.removeAll { $0.id == id } }
    }

    /// The number of pending calls.
    package var pendingCount: Int { calls.count }

    /// Advances the clock and makes the calls that become due, one after the other.
    package func advance(by seconds: Double) {
        let end = now + seconds
        // A call in the past is made, but not in an endless loop.
        while wakeups < 100_000, let next = calls.filter({ $0.time <= end + 1e-9 }).min(by: { $0.time < $1.time }) {
            calls.removeAll { $0.id == next.id }
            now = max(now, next.time)
            wakeups += 1
            next.body()
        }
        now = end
    }

    /// Advances the clock without calls, as a busy machine does.
    package func stall(for seconds: Double) { now += seconds }
}
