import Synchronization

/// The memory that all loads together may take while they are under way: pixels and coefficients of decodes, decoders and
/// canvases that last, and bodies that are not decoded yet. Finished images are the memory cache's.
///
/// The three have a share each. Decodes end by themselves, so that another decode can wait for them; what lasts may do so as
/// long as someone looks at it, so that it is refused where there is no room. A decode takes its memory once, before it
/// begins, and waits for nothing while it has it. It has no thread while it waits.
package final class MemoryBudget: Sendable {
    /// Memory that is given back when this object is released.
    package final class Reservation: Sendable {
        fileprivate enum Share {
            case decoding
            case slowDecoding
            case lasting
            case body
            case bodyInFile
            case animation
        }

        private let budget: MemoryBudget
        private let share: Share
        private let byteCount: Mutex<Int>

        fileprivate init(_ byteCount: Int, of share: Share, _ budget: MemoryBudget) {
            self.budget = budget
            self.share = share
            self.byteCount = Mutex(byteCount)
        }

        /// Gives back what is more than a number of bytes.
        package func shrink(to count: Int) {
            giveBack(
                byteCount.withLock { byteCount in
                    let released = max(byteCount - count, 0)
                    byteCount -= released
                    return released
                }
            )
        }

        deinit {
            giveBack(byteCount.withLock { $0 })
            budget.endBody(share)
        }

        private func giveBack(_ count: Int) {
            guard count > 0 else { return }
            switch share {
            case .decoding: budget.releaseDecoding(count, isSlow: false)
            case .slowDecoding: budget.releaseDecoding(count, isSlow: true)
            case .lasting: budget.releaseLasting(count)
            case .body, .bodyInFile: budget.releaseBody(count)
            case .animation: budget.releaseAnimation(count)
            }
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

    private struct LastingWaiter {
        let number: UInt64
        let byteCount: Int
        let body: @Sendable () -> Void
    }

    private struct State {
        var decodes: DecodeAdmission
        var lasting = 0
        var bodies = 0
        /// The number of bodies in memory, and of those in files.
        var bodyCount = 0
        var fileBodyCount = 0
        var arriving = 0
        /// The bytes of the files of animations, which last as long as their images, once for each size.
        var animations = 0
        /// Closures that wait for a number of bytes that last.
        var lastingWaiters: [LastingWaiter] = []
        /// Closures that are waiting for room for bodies.
        var bodyWaiters: [@Sendable () -> Void] = []
    }

    /// The bytes that decodes may take at a time.
    package let decodingLimit: Int
    /// The bytes that decoders of arriving files and canvases of animations may take.
    let lastingLimit: Int
    /// The bytes of bodies from which on no further ones are read or requested, as long as there are whole ones to decode.
    let bodyLimit: Int
    private let state: Mutex<State>
    private let serial = Mutex(Serial())

    /// The most that a process takes for all of its loads, and for decodes.
    package static let largestLimit = 1 << 30
    static let largestDecodingLimit = largestLimit / 16 * 10

    /// The most that is of use: decoders are busy with so many bytes for longer than a transfer takes to begin.
    private static let largestBodyLimit = 32 << 20
    /// The bytes and the number of bodies that are enough to keep decoders busy while a transfer begins. More would take time
    /// from the decoders of the first screen, and memory.
    private let enough: (byteCount: Int, count: Int)

    /// - Parameters:
    ///   - limit: The bytes of all together.
    ///   - decoderCount: The number of decodes that run at a time, on which depends how many bodies are read ahead.
    package init(limit: Int, decoderCount: Int = 4) {
        let count = 8 * min(max(decoderCount, 1), 8)
        // A quarter of a megabyte for each body.
        enough = (byteCount: count << 18, count: count)
        let sixteenth = max(limit, 0) / 16
        decodingLimit = max(sixteenth * 10, 1)
        lastingLimit = max(sixteenth * 3, 1)
        bodyLimit = min(max(sixteenth * 3, 1), Self.largestBodyLimit)
        state = Mutex(State(decodes: DecodeAdmission(limit: decodingLimit)))
    }

    /// The bytes of bodies that are arriving.
    var arrivingByteCount: Int { state.withLock { $0.arriving } }

    /// The bytes in use, without those of bodies that are arriving.
    package var used: (decoding: Int, lasting: Int, bodies: Int) {
        state.withLock { ($0.decodes.used, $0.lasting, $0.bodies) }
    }

    /// The number of decodes that wait.
    package var waitingCount: Int { state.withLock { $0.decodes.waiters.count } }

    /// The number of closures that wait for memory that lasts.
    var lastingWaiterCount: Int { state.withLock { $0.lastingWaiters.count } }

    /// A ticket for ``waitForDecoding(_:ticket:priority:isSlow:_:)`` or ``whenRoom(toKeep:ticket:_:)``.
    package func makeTicket() -> WorkQueue.Ticket { WorkQueue.Ticket(serial.withLock { $0.next() }, of: self) }

    /// Takes memory for a decode unless it, or another one, would have to wait.
    /// - Parameters:
    ///   - byteCount: The number of bytes, at most ``decodingLimit``.
    ///   - isSlow: Whether the decode may take seconds.
    func takeForDecoding(_ byteCount: Int, isSlow: Bool = false) -> Reservation? {
        let byteCount = bounded(byteCount)
        guard state.withLock({ $0.decodes.take(byteCount, isSlow: isSlow) }) else { return nil }
        return Reservation(byteCount, of: isSlow ? .slowDecoding : .decoding, self)
    }

    /// Calls a closure with the memory for a decode, once there is room and its turn has come: within this call, or on a
    /// thread that has given memory back.
    /// - Parameter ticket: What ``cancel(_:)`` and ``setPriority(_:of:)`` take.
    package func waitForDecoding(
        _ byteCount: Int,
        ticket: WorkQueue.Ticket,
        priority: ImagePriority,
        isSlow: Bool = false,
        _ body: @escaping @Sendable (Reservation) -> Void
    ) {
        let waiter = DecodeAdmission.Waiter(
            number: ticket.number,
            byteCount: bounded(byteCount),
            isSlow: isSlow,
            priority: priority,
            body: body
        )
        begin(
            state.withLock { state in
                state.decodes.wait(waiter)
                return state.decodes.admit()
            }
        )
    }

    private func bounded(_ byteCount: Int) -> Int { min(max(byteCount, 0), decodingLimit) }

    /// Ends a wait, unless it is over or that of another budget.
    package func cancel(_ ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        // What waits is released with the lock free.
        let (removed, admitted, other) = state.withLock { state in
            let removed = state.decodes.remove(ticket.number)
            let index = removed == nil ? state.lastingWaiters.firstIndex { $0.number == ticket.number } : nil
            let other = index.map { state.lastingWaiters.remove(at: $0) }
            // Those behind it may need less.
            return (removed, removed == nil ? [] : state.decodes.admit(), other)
        }
        begin(admitted)
        withExtendedLifetime((removed, other)) {}
    }

    /// Moves a decode that waits to the end of another priority.
    package func setPriority(_ priority: ImagePriority, of ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        let admitted = state.withLock { state -> [DecodeAdmission.Waiter] in
            guard var waiter = state.decodes.remove(ticket.number) else { return [] }
            waiter.priority = priority
            state.decodes.wait(waiter)
            return state.decodes.admit()
        }
        begin(admitted)
    }

    private func releaseDecoding(_ byteCount: Int, isSlow: Bool) {
        begin(
            state.withLock { state in
                state.decodes.add(-byteCount, isSlow)
                return state.decodes.admit()
            }
        )
    }

    private func begin(_ admitted: [DecodeAdmission.Waiter]) {
        for waiter in admitted {
            waiter.body(Reservation(waiter.byteCount, of: waiter.isSlow ? .slowDecoding : .decoding, self))
        }
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
        return isGranted ? Reservation(byteCount, of: .lasting, self) : nil
    }

    /// Calls a closure once there is so much memory that lasts: within this call, or on a thread that has given some back.
    /// Another caller may take it first.
    /// - Parameter ticket: What ``cancel(_:)`` takes.
    func whenRoom(toKeep byteCount: Int, ticket: WorkQueue.Ticket, _ body: @escaping @Sendable () -> Void) {
        let hasRoom = state.withLock { state in
            if byteCount <= lastingLimit - state.lasting { return true }
            state.lastingWaiters.append(LastingWaiter(number: ticket.number, byteCount: byteCount, body: body))
            return false
        }
        if hasRoom { body() }
    }

    private func releaseLasting(_ byteCount: Int) {
        let waiters = state.withLock { state in
            state.lasting -= byteCount
            let room = lastingLimit - state.lasting
            let ready = state.lastingWaiters.filter { $0.byteCount <= room }
            if !ready.isEmpty { state.lastingWaiters.removeAll { $0.byteCount <= room } }
            return ready
        }
        for waiter in waiters { waiter.body() }
    }

    /// Counts a body until its image is decoded. It is there already, so this never fails.
    /// - Parameter isInFile: Whether the bytes are in a file that is mapped, whose pages the kernel can drop.
    func holdBody(_ byteCount: Int, isInFile: Bool = false) -> Reservation {
        let byteCount = isInFile ? 0 : max(byteCount, 0)
        state.withLock { state in
            state.bodies = state.bodies.boundedSum(byteCount)
            if isInFile { state.fileBodyCount += 1 } else { state.bodyCount += 1 }
        }
        return Reservation(byteCount, of: isInFile ? .bodyInFile : .body, self)
    }

    private func releaseBody(_ byteCount: Int) {
        admitBodies { $0.bodies -= byteCount }
    }

    private func endBody(_ share: Reservation.Share) {
        switch share {
        case .body: admitBodies { $0.bodyCount -= 1 }
        case .bodyInFile: admitBodies { $0.fileBodyCount -= 1 }
        case .decoding, .slowDecoding, .lasting, .animation: break
        }
    }

    private func admitBodies(_ change: (inout State) -> Void) {
        let waiters = state.withLock { state in
            change(&state)
            return hasRoom(state) ? exchange(&state.bodyWaiters, with: []) : []
        }
        for waiter in waiters { waiter() }
    }

    /// Counts the file of an animation as long as its frames may be decoded. It is there already, so this never fails.
    package func holdAnimation(_ byteCount: Int) -> Reservation {
        let byteCount = max(byteCount, 0)
        state.withLock { $0.animations = $0.animations.boundedSum(byteCount) }
        return Reservation(byteCount, of: .animation, self)
    }

    private func releaseAnimation(_ byteCount: Int) {
        state.withLock { $0.animations -= byteCount }
    }

    /// The bytes of the files of animations.
    var animationByteCount: Int { state.withLock { $0.animations } }

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
        guard state.bodyCount + state.fileBodyCount > 0 else { return true }
        guard state.fileBodyCount < enough.count else { return false }
        let byteCount = state.bodies.boundedSum(state.arriving)
        guard byteCount >= min(enough.byteCount, bodyLimit) else { return true }
        return byteCount < bodyLimit && state.bodyCount < enough.count
    }

    /// Whether another body may be read.
    package var hasRoomForBody: Bool { state.withLock { hasRoom($0) } }

    /// Whether there should be no more copies of bodies that arrive, such as those for partial images.
    var isFullOfBodies: Bool { state.withLock { $0.bodies.boundedSum($0.arriving) >= bodyLimit } }

    /// Whether bodies that arrive should rather be kept in files than in memory. The files of animations count as well, though
    /// nothing waits for them: they may last as long as the app.
    package var keepsBodiesInFiles: Bool {
        state.withLock { $0.bodies.boundedSum($0.arriving).boundedSum($0.animations) >= bodyLimit }
    }

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
