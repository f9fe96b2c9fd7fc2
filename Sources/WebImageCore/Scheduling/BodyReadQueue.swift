import Synchronization

/// Reads of bodies on the threads of a queue, by priority, while the memory budget has room for another body.
///
/// Reading is faster than decoding, so most reads of a long list wait for room. Only one of them at a time registers
/// for it: if each did, the end of each decode would wake all of them.
final class BodyReadQueue: WorkSubmitting {
    private struct State {
        var reads = PriorityQueue<WorkQueue.Work>()
        /// The number of turns that found no room. There is at least one turn for each read, and a turn takes the read that is due.
        var parkedCount = 0
        var isWaiting = false
    }

    private let queue: WorkQueue
    private let budget: MemoryBudget
    private let state = Mutex(State())

    init(_ queue: WorkQueue, budget: MemoryBudget) {
        self.queue = queue
        self.budget = budget
    }

    /// The number of reads that have not begun.
    var waitingCount: Int { state.withLock { $0.reads.count } }

    func start() -> Int32 { queue.start() }

    @discardableResult
    func submit(priority: ImagePriority, _ work: @escaping @Sendable () -> Void) -> WorkQueue.Ticket {
        let number = state.withLock { $0.reads.push(.init(run: work), priority) }
        queue.submit(priority: priority) { self.takeTurn() }
        return WorkQueue.Ticket(number, of: self)
    }

    @discardableResult
    func cancel(_ ticket: WorkQueue.Ticket) -> Bool {
        guard ticket.isOf(self) else { return false }
        // The turn of the cancelled read finds nothing to do, or takes another read.
        return state.release { $0.reads.remove(ticket.number) }
    }

    func setPriority(_ priority: ImagePriority, of ticket: WorkQueue.Ticket) {
        guard ticket.isOf(self) else { return }
        // The read gets another turn at that priority, because its first turn waits among those of the old priority.
        if state.withLock({ $0.reads.move(ticket.number, to: priority) }) {
            queue.submit(priority: priority) { self.takeTurn() }
        }
    }

    private func takeTurn() {
        guard budget.hasRoomForBody else { return park() }
        let work = state.withLock { $0.reads.pop() }
        // There may be room for further bodies, and the disk of this one may hang.
        resume()
        work?.run()
    }

    private func park() {
        let isFirst = state.withLock { state in
            state.parkedCount += 1
            defer { state.isWaiting = true }
            return !state.isWaiting
        }
        // The closure runs on the thread that gives memory back.
        if isFirst { budget.whenRoomForBody { self.endWait() } }
    }

    private func endWait() {
        state.withLock { $0.isWaiting = false }
        resume()
    }

    /// Resumes a parked turn.
    private func resume() {
        let priority = state.withLock { state -> ImagePriority? in
            // Turns of reads that were cancelled have nothing to do.
            state.parkedCount = min(state.parkedCount, state.reads.count)
            guard state.parkedCount > 0 else { return nil }
            state.parkedCount -= 1
            return state.reads.highestPriority()
        }
        if let priority { queue.submit(priority: priority, isResumed: true) { self.takeTurn() } }
    }
}
