import Synchronization

/// A load that is a work item of a queue.
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

    /// Starts the load, or fails it if there is no thread.
    package func start(
        _ request: LoaderRequest,
        onEvent: (LoaderEvent) -> Void,
        _ work: @escaping @Sendable () -> Void
    ) {
        let code = queue.start()
        guard code == 0 else { return onEvent(.finished(.failure(.noThread(for: request.url, code)))) }
        let ticket = queue.submit(priority: request.priority, work)
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
        // The bytes arrive all at once, at the end of the load.
    }
}
