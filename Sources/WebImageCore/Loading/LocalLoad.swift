import Synchronization

/// A load that is a piece of work in a queue.
package final class LocalLoad: FetchOperation {
    private struct State {
        var ticket: WorkQueue.Ticket?
        var isCancelled = false
    }

    private let queue: any WorkSubmitting
    private let state = Mutex(State())

    package init(queue: any WorkSubmitting) {
        self.queue = queue
    }

    package var isCancelled: Bool { state.withLock { $0.isCancelled } }

    package func start(priority: ImagePriority, _ work: @escaping @Sendable () -> Void) {
        let ticket = queue.submit(priority: priority, work)
        state.withLock { $0.ticket = ticket }
    }

    package func cancel() {
        let ticket = state.withLock { state in
            state.isCancelled = true
            return state.ticket
        }
        if let ticket { queue.cancel(ticket) }
    }

    package func setPriority(_ priority: ImagePriority) {
        if let ticket = state.withLock({ $0.ticket }) { queue.setPriority(priority, of: ticket) }
    }

    package func startStreaming() {
        // The bytes come all at once, with the end of the load.
    }
}
