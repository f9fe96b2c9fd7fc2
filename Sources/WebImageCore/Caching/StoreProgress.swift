import Synchronization

/// How far storing the bytes of a fetch is, which the first of its jobs does.
final class StoreProgress: Sendable {
    enum Phase: Int {
        case pending
        /// A job decodes the whole image in order to store it.
        case postponed
        case storing
        case done
    }

    /// Whether the bytes replace other bytes of the image in the caches.
    let replacesCached: Bool
    private let state = Mutex((phase: Phase.pending, waiting: [@Sendable () -> Void]()))

    init(replacesCached: Bool) { self.replacesCached = replacesCached }

    /// Whether nothing has been stored yet.
    var isUnstored: Bool { state.withLock { $0.phase.rawValue < Phase.storing.rawValue } }

    /// Runs a closure in a later phase, unless a job has entered that phase. The phase `storing` ends with the call.
    /// - Parameter body: Receives the phase before.
    func enter(_ next: Phase, _ body: (_ last: Phase) -> Void) {
        let last = state.withLock { state -> Phase? in
            guard state.phase.rawValue < next.rawValue else { return nil }
            return exchange(&state.phase, with: next)
        }
        guard let last else { return }
        body(last)
        guard next == .storing else { return }
        let waiting = state.withLock { state in
            state.phase = .done
            return exchange(&state.waiting, with: [])
        }
        for body in waiting { body() }
    }

    /// Runs a closure once storing that was begun or postponed has ended, or within this call if storing was not begun.
    func whenDone(_ body: @escaping @Sendable () -> Void) {
        let waits = state.withLock { state in
            guard state.phase == .postponed || state.phase == .storing else { return false }
            state.waiting.append(body)
            return true
        }
        if !waits { body() }
    }
}
