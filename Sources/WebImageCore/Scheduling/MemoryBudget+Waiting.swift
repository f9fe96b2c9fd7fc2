import Synchronization

// Memory to wait for. Each closure is called within the call, or on a thread that has given memory back.
extension MemoryBudget {
    /// A ticket for ``waitForDecoding(_:ticket:priority:isSlow:_:)`` or ``whenRoom(toKeep:ticket:_:)``.
    package func makeTicket() -> WorkQueue.Ticket { WorkQueue.Ticket(accounts.withLock { $0.serial.next() }, of: self) }

    private func wait(_ waiter: MemoryAccounts.Waiter) {
        change { accounts in
            accounts.wait(waiter)
            return accounts.admit(waiter.use)
        }
    }

    /// Ends a wait, unless it is over or belongs to another budget.
    package func cancel(_ ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        var removed: MemoryAccounts.Waiter?
        change { accounts in
            removed = accounts.remove(ticket.number)
            // The waiters behind it may need less.
            return removed.map { accounts.admit($0.use) } ?? []
        }
        // The closure of the waiter is released while the lock is free.
        withExtendedLifetime(removed) {}
    }

    /// Moves a waiting decode to the end of another priority.
    package func setPriority(_ priority: ImagePriority, of ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        change { accounts in
            guard var waiter = accounts.remove(ticket.number) else { return [] }
            waiter.rank = priority.rank
            accounts.wait(waiter)
            return accounts.admit(waiter.use)
        }
    }

    /// Calls a closure with the memory for a decode, once there is room and the turn of the decode has come.
    /// - Parameter ticket: The ticket for ``cancel(_:)`` and ``setPriority(_:of:)``.
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

    /// Calls a closure once there is that much long-lived memory. Another caller may take it first.
    /// - Parameter ticket: The ticket for ``cancel(_:)``.
    func whenRoom(toKeep byteCount: Int, ticket: WorkQueue.Ticket, _ body: @escaping @Sendable () -> Void) {
        wait(MemoryAccounts.Waiter(number: ticket.number, use: .lasting, byteCount: byteCount, body: body))
    }

    /// Calls a closure once another body may be read.
    package func whenRoomForBody(_ body: @escaping @Sendable () -> Void) {
        wait(MemoryAccounts.Waiter(number: makeTicket().number, use: .body, byteCount: 0, body: body))
    }
}
