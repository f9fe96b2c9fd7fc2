import Synchronization

/// The bytes of decoded frames that all animations together may keep ahead. What an animation needs at least, the frame
/// that is shown and the next one, is not asked for here: it could not be refused.
package final class AnimationBudget: Sendable {
    private struct State {
        var used = 0
        var generation = 0
    }

    /// In bytes.
    package let limit: Int
    private let state = Mutex(State())

    package init(limit: Int) {
        self.limit = limit
    }

    /// Bytes that are taken.
    package var used: Int { state.withLock { $0.used } }

    /// - Returns: Whether there was room.
    func take(_ byteCount: Int) -> Bool {
        state.withLock { state in
            guard state.used + byteCount <= limit else { return false }
            state.used += byteCount
            return true
        }
    }

    func giveBack(_ byteCount: Int) {
        state.withLock { $0.used -= byteCount }
    }

    /// Counts how often memory was short.
    var generation: Int { state.withLock { $0.generation } }

    /// Memory is short: every animation lets go of what it has decoded ahead when it is next looked at.
    package func purge() {
        state.withLock { $0.generation += 1 }
    }
}
