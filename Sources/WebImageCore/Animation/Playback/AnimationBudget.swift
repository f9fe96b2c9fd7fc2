import Synchronization

/// The memory that all animations together may spend on frames decoded ahead. The current and the next frame of each
/// animation are exempt, because no animation can play without them.
package final class AnimationBudget: Sendable {
    private struct State {
        var used = 0
        var generation = 0
    }

    /// The limit in bytes.
    package let limit: Int
    private let state = Mutex(State())

    package init(limit: Int) {
        self.limit = limit
    }

    /// The bytes in use.
    package var used: Int { state.withLock { $0.used } }

    /// Reserves bytes.
    /// - Returns: Whether the limit allowed it.
    func reserve(_ byteCount: Int) -> Bool {
        state.withLock { state in
            guard byteCount <= limit - state.used else { return false }
            state.used += byteCount
            return true
        }
    }

    func release(_ byteCount: Int) {
        state.withLock { $0.used -= byteCount }
    }

    /// The number of purges so far.
    var generation: Int { state.withLock { $0.generation } }

    /// Makes every animation drop its frames decoded ahead when it next updates. Called under memory pressure.
    package func purge() {
        state.withLock { $0.generation += 1 }
    }
}
