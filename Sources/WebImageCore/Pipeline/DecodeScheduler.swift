/// Beside stage 5: finds a thread and memory for what a job decodes.
///
/// A decode for which there is no memory gives its thread back and is submitted again once there is some, at the priority that
/// its job has by then. It goes before the others of that priority, since the memory that it holds is idle until it begins.
final class DecodeScheduler: Sendable {
    private let queue: WorkQueue
    private let slowQueue: WorkQueue
    private let budget: MemoryBudget
    private let graph: SharedGraph
    private let maker: ImageMaker

    init(_ dependencies: Pipeline.Dependencies, graph: SharedGraph, maker: ImageMaker) {
        queue = dependencies.decodeQueue
        slowQueue = dependencies.slowQueue
        budget = dependencies.budget
        self.graph = graph
        self.maker = maker
    }

    /// Whether the bytes are decoded on a queue of their own, because that can take seconds.
    func isSlow(_ data: FetchedData, for request: ImageRequest) -> Bool {
        slowQueue !== queue && maker.isSlow(data, for: request)
    }

    /// Whether there can ever be memory for a decode.
    func canReserve(_ byteCount: Int) -> Bool { byteCount <= budget.decodingLimit }

    /// Submits work for a job, which cancels it and changes its priority.
    /// - Parameter last: The ticket with which the job has waited for memory.
    func submit(
        _ id: JobGraph.Job.ID,
        after last: WorkQueue.Ticket? = nil,
        priority: ImagePriority,
        isSlow: Bool,
        _ work: @escaping @Sendable () -> Void
    ) {
        let queue = isSlow ? slowQueue : queue
        let ticket = queue.submit(priority: priority, isOldest: last != nil, work)
        // The work may have begun, and be waiting for memory with a ticket of its own.
        let current = graph.withLock { $0.setDecodeTicket(ticket, of: id, where: { $0 == last }) }
        // The priority may have changed before the graph had the ticket.
        if let current, current != priority { queue.setPriority(current, of: ticket) }
    }

    /// Takes memory for a job.
    /// - Parameter again: What goes on with the memory, on a thread of the queue, when there is none now.
    /// - Returns: The memory; `nil` when this thread has nothing left to do.
    func reserve(
        _ byteCount: Int,
        for id: JobGraph.Job.ID,
        isSlow: Bool,
        again: @escaping @Sendable (MemoryBudget.Reservation) -> Void
    ) -> MemoryBudget.Reservation? {
        if let reservation = budget.takeForDecoding(byteCount, isSlow: isSlow) { return reservation }
        let ticket = budget.makeTicket()
        guard let priority = graph.withLock({ $0.setDecodeTicket(ticket, of: id) }) else { return nil }
        budget.waitForDecoding(byteCount, ticket: ticket, priority: priority, isSlow: isSlow) { [self] reservation in
            guard let priority = graph.job(id)?.priority else { return }
            submit(id, after: ticket, priority: priority, isSlow: isSlow) { again(reservation) }
        }
        // The job may have been cancelled, or its priority changed, before it waited.
        guard let current = graph.job(id)?.priority else {
            budget.cancel(ticket)
            return nil
        }
        if current != priority { budget.setPriority(current, of: ticket) }
        return nil
    }
}
