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
        private let budget: MemoryBudget
        private let use: MemoryAccounts.Use
        private let count: Mutex<Int>

        fileprivate init(_ byteCount: Int, for use: MemoryAccounts.Use, _ budget: MemoryBudget) {
            (self.use, self.budget) = (use, budget)
            count = Mutex(byteCount)
        }

        deinit {
            budget.add(-byteCount, count: -1, to: use)
        }

        /// The bytes that are taken. Those of a body that arrives grow.
        package var byteCount: Int {
            get { count.withLock { $0 } }
            set { change { _ in newValue } }
        }

        /// Gives back what is more than a number of bytes.
        package func shrink(to count: Int) { change { min($0, count) } }

        private func change(_ change: (Int) -> Int) {
            let (old, new) = count.withLock { count in
                let new = max(change(count), 0)
                return (exchange(&count, with: new), new)
            }
            if new != old { budget.add(new - old, to: use) }
        }
    }

    /// The bytes that decodes may take at a time.
    package let decodingLimit: Int
    /// The bytes that decoders of arriving files and canvases of animations may take.
    let lastingLimit: Int
    /// The bytes of bodies from which on no further ones are read or requested, as long as there are whole ones to decode.
    let bodyLimit: Int
    private let accounts: Mutex<MemoryAccounts>

    /// The most that a process takes for all of its loads, and for decodes.
    package static let largestLimit = 1 << 30
    static let largestDecodingLimit = largestLimit / 16 * 10

    /// - Parameters:
    ///   - limit: The bytes of all together.
    ///   - decoderCount: The number of decodes that run at a time, on which depends how many bodies are read ahead.
    package init(limit: Int, decoderCount: Int = 4) {
        let accounts = MemoryAccounts(limit: limit, decoderCount: decoderCount)
        (decodingLimit, lastingLimit, bodyLimit) = (accounts.decodingLimit, accounts.lastingLimit, accounts.bodyLimit)
        self.accounts = Mutex(accounts)
    }

    /// The bytes in use, without those of bodies that are arriving.
    package var used: (decoding: Int, lasting: Int, bodies: Int) {
        accounts.withLock { ($0.decoding, $0[.lasting], $0[.body]) }
    }

    /// The bytes of bodies that are arriving.
    var arrivingByteCount: Int { accounts.withLock { $0[.arrivingBody] } }

    /// The bytes of the files of animations.
    var animationByteCount: Int { accounts.withLock { $0[.animation] } }

    /// The number of decodes that wait.
    package var waitingCount: Int { accounts.withLock { $0.waiterCount(.decode) } }

    /// The number of closures that wait for memory that lasts.
    var lastingWaiterCount: Int { accounts.withLock { $0.waiterCount(.lasting) } }

    /// Changes the accounts, and then calls those that wait no longer, with the lock free.
    private func change(_ body: (inout MemoryAccounts) -> [MemoryAccounts.Waiter]) {
        for waiter in accounts.withLock({ body(&$0) }) { waiter.body() }
    }

    private func add(_ byteCount: Int, count: Int = 0, to use: MemoryAccounts.Use) {
        change { accounts in
            accounts.add(byteCount, count: count, to: use)
            return byteCount < 0 || count < 0 ? accounts.admit(use) : []
        }
    }

    private func take(_ byteCount: Int, for use: MemoryAccounts.Use) -> Reservation? {
        let isTaken = accounts.withLock { $0.take(byteCount, for: use) }
        return isTaken ? Reservation(byteCount, for: use, self) : nil
    }

    /// Counts what is there already, so that this never fails.
    private func hold(_ byteCount: Int, for use: MemoryAccounts.Use) -> Reservation {
        add(max(byteCount, 0), count: 1, to: use)
        return Reservation(max(byteCount, 0), for: use, self)
    }

    // Memory that is waited for. Each closure is called within the call, or on a thread that has given memory back.

    /// A ticket for ``waitForDecoding(_:ticket:priority:isSlow:_:)`` or ``whenRoom(toKeep:ticket:_:)``.
    package func makeTicket() -> WorkQueue.Ticket { WorkQueue.Ticket(accounts.withLock { $0.serial.next() }, of: self) }

    private func wait(_ waiter: MemoryAccounts.Waiter) {
        change { accounts in
            accounts.wait(waiter)
            return accounts.admit(waiter.use)
        }
    }

    /// Ends a wait, unless it is over or that of another budget.
    package func cancel(_ ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        var removed: MemoryAccounts.Waiter?
        change { accounts in
            removed = accounts.remove(ticket.number)
            // Those behind it may need less.
            return removed.map { accounts.admit($0.use) } ?? []
        }
        // What has waited is released with the lock free.
        withExtendedLifetime(removed) {}
    }

    /// Moves a decode that waits to the end of another priority.
    package func setPriority(_ priority: ImagePriority, of ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        change { accounts in
            guard var waiter = accounts.remove(ticket.number) else { return [] }
            waiter.rank = priority.rank
            accounts.wait(waiter)
            return accounts.admit(waiter.use)
        }
    }

    /// Takes memory for a decode unless it has to wait.
    /// - Parameters:
    ///   - byteCount: The number of bytes, at most ``decodingLimit``.
    ///   - isSlow: Whether the decode may take seconds.
    func takeForDecoding(_ byteCount: Int, isSlow: Bool = false) -> Reservation? {
        take(bounded(byteCount), for: isSlow ? .slowDecode : .decode)
    }

    /// Calls a closure with the memory for a decode, once there is room and its turn has come.
    /// - Parameter ticket: What ``cancel(_:)`` and ``setPriority(_:of:)`` take.
    package func waitForDecoding(
        _ byteCount: Int,
        ticket: WorkQueue.Ticket,
        priority: ImagePriority,
        isSlow: Bool = false,
        _ body: @escaping @Sendable (Reservation) -> Void
    ) {
        let (byteCount, use) = (bounded(byteCount), isSlow ? MemoryAccounts.Use.slowDecode : .decode)
        wait(
            MemoryAccounts.Waiter(number: ticket.number, use: use, byteCount: byteCount, rank: priority.rank) {
                body(Reservation(byteCount, for: use, self))
            }
        )
    }

    private func bounded(_ byteCount: Int) -> Int { min(max(byteCount, 0), decodingLimit) }

    /// Takes memory that may be kept for long.
    /// - Returns: `nil` when there is not enough.
    package func keep(_ byteCount: Int) -> Reservation? { take(max(byteCount, 0), for: .lasting) }

    /// Calls a closure once there is so much memory that lasts. Another caller may take it first.
    /// - Parameter ticket: What ``cancel(_:)`` takes.
    func whenRoom(toKeep byteCount: Int, ticket: WorkQueue.Ticket, _ body: @escaping @Sendable () -> Void) {
        wait(MemoryAccounts.Waiter(number: ticket.number, use: .lasting, byteCount: byteCount, body: body))
    }

    /// Calls a closure once another body may be read.
    package func whenRoomForBody(_ body: @escaping @Sendable () -> Void) {
        wait(MemoryAccounts.Waiter(number: makeTicket().number, use: .body, byteCount: 0, body: body))
    }

    // Memory that is there already.

    /// Begins to count a body while it arrives.
    package func arrivingBody(_ byteCount: Int = 0) -> Reservation { hold(byteCount, for: .arrivingBody) }

    /// Counts a body until its image is decoded.
    /// - Parameter isInFile: Whether the bytes are in a file that is mapped, which takes no memory.
    func holdBody(_ byteCount: Int, isInFile: Bool = false) -> Reservation {
        isInFile ? hold(0, for: .bodyInFile) : hold(byteCount, for: .body)
    }

    /// Counts the file of an animation as long as its frames may be decoded.
    package func holdAnimation(_ byteCount: Int) -> Reservation { hold(byteCount, for: .animation) }

    /// Whether another body may be read.
    package var hasRoomForBody: Bool { accounts.withLock { $0.hasRoomForBody } }

    /// Whether there should be no more copies of bodies that arrive, such as those for partial images.
    var isFullOfBodies: Bool { accounts.withLock { $0.bodies >= bodyLimit } }

    /// Whether bodies that arrive should rather be kept in files than in memory. The files of animations count as well, though
    /// nothing waits for them: they may last as long as the app.
    package var keepsBodiesInFiles: Bool { accounts.withLock { $0.bodies + $0[.animation] >= bodyLimit } }
}
