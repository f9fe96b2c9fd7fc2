import Dispatch
import Synchronization

/// The memory that all loads together may take while they are under way: pixels and coefficients of decodes, decoders and
/// canvases that last, and bodies that are not decoded yet. Finished images are the memory cache's.
///
/// The three have a share each. Decodes end by themselves, so that another decode can wait for them; what lasts may do so as
/// long as someone looks at it, so that nothing waits for it and it is refused instead. A decode takes its memory once,
/// before it begins, and waits for nothing while it has it.
package final class MemoryBudget: Sendable {
    /// Memory that is given back when this object is released.
    package final class Reservation: Sendable {
        private let giveBack: @Sendable () -> Void

        fileprivate init(_ giveBack: @escaping @Sendable () -> Void) {
            self.giveBack = giveBack
        }

        deinit {
            giveBack()
        }
    }

    /// The memory of a body that is arriving, which changes until this object is released.
    package final class ArrivingBody: Sendable {
        private let budget: MemoryBudget
        private let count = Mutex(0)

        fileprivate init(_ budget: MemoryBudget) {
            self.budget = budget
        }

        deinit {
            budget.changeArriving(by: -count.withLock { $0 })
        }

        /// The bytes of the body that are in memory.
        package var byteCount: Int {
            get { count.withLock { $0 } }
            set {
                let old = count.withLock { exchange(&$0, with: max(newValue, 0)) }
                budget.changeArriving(by: max(newValue, 0) - old)
            }
        }
    }

    /// A decode that waits.
    private final class Waiter: Sendable {
        let byteCount: Int
        let semaphore = DispatchSemaphore(value: 0)

        init(_ byteCount: Int) {
            self.byteCount = byteCount
        }
    }

    private struct State {
        var decoding = 0
        var lasting = 0
        var bodies = 0
        var arriving = 0
        /// The decodes that wait, in order.
        var waiters: [Waiter] = []
        /// Closures that are waiting for room for bodies.
        var bodyWaiters: [@Sendable () -> Void] = []
    }

    /// The bytes that decodes may take at a time.
    package let decodingLimit: Int
    /// The bytes that decoders of arriving files and canvases of animations may take.
    package let lastingLimit: Int
    /// The bytes of bodies from which on no further ones are read or requested, as long as there are whole ones to decode.
    package let bodyLimit: Int
    private let state = Mutex(State())

    /// - Parameter limit: The bytes of all together.
    package init(limit: Int) {
        let sixteenth = max(limit, 0) / 16
        decodingLimit = max(sixteenth * 10, 1)
        lastingLimit = max(sixteenth * 3, 1)
        bodyLimit = max(sixteenth * 3, 1)
    }

    /// The bytes of bodies that are arriving.
    package var arrivingByteCount: Int { state.withLock { $0.arriving } }

    /// The bytes in use, without those of bodies that are arriving.
    package var used: (decoding: Int, lasting: Int, bodies: Int) {
        state.withLock { ($0.decoding, $0.lasting, $0.bodies) }
    }

    /// The number of decodes that wait.
    package var waitingCount: Int { state.withLock { $0.waiters.count } }

    /// Takes memory for a decode, and waits on this thread until there is some. Waiting decodes get it in their order.
    /// - Parameters:
    ///   - byteCount: The number of bytes, which is not larger than ``decodingLimit``.
    ///   - isCancelled: Called several times a second during the wait.
    /// - Returns: `nil` when the wait was cancelled.
    package func waitForDecoding(_ byteCount: Int, until isCancelled: () -> Bool) -> Reservation? {
        let byteCount = min(max(byteCount, 0), decodingLimit)
        let waiter: Waiter? = state.withLock { state in
            if state.waiters.isEmpty, byteCount <= decodingLimit - state.decoding {
                state.decoding += byteCount
                return nil
            }
            let waiter = Waiter(byteCount)
            state.waiters.append(waiter)
            return waiter
        }
        if let waiter {
            while waiter.semaphore.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
                guard isCancelled() else { continue }
                let isRemoved = state.withLock { state in
                    let index = state.waiters.firstIndex { $0 === waiter }
                    if let index { state.waiters.remove(at: index) }
                    return index != nil
                }
                // Those behind it may need less.
                if isRemoved {
                    admitDecodes(afterReleasing: 0)
                    return nil
                }
            }
        }
        return Reservation { [weak self] in self?.admitDecodes(afterReleasing: byteCount) }
    }

    private func admitDecodes(afterReleasing byteCount: Int) {
        let admitted = state.withLock { state in
            state.decoding -= byteCount
            var count = 0
            while count < state.waiters.count, state.waiters[count].byteCount <= decodingLimit - state.decoding {
                state.decoding += state.waiters[count].byteCount
                count += 1
            }
            defer { state.waiters.removeFirst(count) }
            return Array(state.waiters.prefix(count))
        }
        for waiter in admitted { waiter.semaphore.signal() }
    }

    /// Takes memory that may be kept for long.
    /// - Returns: `nil` when there is not enough.
    package func keep(_ byteCount: Int) -> Reservation? {
        let byteCount = max(byteCount, 0)
        let isGranted = state.withLock { state in
            guard byteCount <= lastingLimit - state.lasting else { return false }
            state.lasting += byteCount
            return true
        }
        guard isGranted else { return nil }
        return Reservation { [weak self] in self?.state.withLock { $0.lasting -= byteCount } }
    }

    /// Counts a body until its image is decoded. It is there already, so this never fails.
    package func holdBody(_ byteCount: Int) -> Reservation {
        let byteCount = max(byteCount, 0)
        state.withLock { $0.bodies = $0.bodies.boundedSum(byteCount) }
        return Reservation { [weak self] in self?.releaseBody(byteCount) }
    }

    private func releaseBody(_ byteCount: Int) {
        admitBodies { $0.bodies -= byteCount }
    }

    private func admitBodies(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            return hasRoom(state) ? exchange(&state.bodyWaiters, with: []) : []
        }
        for waiter in waiters { waiter() }
    }

    /// Begins to count a body while it arrives.
    package func arrivingBody() -> ArrivingBody { ArrivingBody(self) }

    private func changeArriving(by byteCount: Int) {
        if byteCount < 0 {
            admitBodies { $0.arriving += byteCount }
        } else {
            state.withLock { $0.arriving = $0.arriving.boundedSum(byteCount) }
        }
    }

    /// Only whole bodies are waited for, since they are decoded by and by whatever else happens. Those that arrive may depend on
    /// a server that takes its time, and must not hold what others can serve.
    private func hasRoom(_ state: State) -> Bool {
        state.bodies == 0 || state.bodies.boundedSum(state.arriving) < bodyLimit
    }

    /// Whether another body may be read.
    package var hasRoomForBody: Bool { state.withLock { hasRoom($0) } }

    /// Whether bodies that arrive should rather be kept elsewhere than in memory.
    package var isFullOfBodies: Bool { state.withLock { $0.bodies.boundedSum($0.arriving) >= bodyLimit } }

    /// Calls a closure once another body may be read: within this call, or on a thread that has released one.
    package func whenRoomForBody(_ body: @escaping @Sendable () -> Void) {
        let isNow = state.withLock { state in
            if hasRoom(state) { return true }
            state.bodyWaiters.append(body)
            return false
        }
        if isNow { body() }
    }
}
