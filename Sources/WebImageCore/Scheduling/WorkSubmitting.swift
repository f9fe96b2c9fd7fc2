/// A queue of work that can be cancelled and moved to another priority until it begins.
package protocol WorkSubmitting: Sendable {
    /// Starts the threads, unless they run.
    /// - Returns: 0; the error number of pthread_create(3) where not even one runs.
    func start() -> Int32
    @discardableResult
    func submit(priority: ImagePriority, _ work: @escaping @Sendable () -> Void) -> WorkQueue.Ticket
    @discardableResult
    func cancel(_ ticket: WorkQueue.Ticket) -> Bool
    func setPriority(_ priority: ImagePriority, of ticket: WorkQueue.Ticket)
}

extension WorkQueue: WorkSubmitting {
    @discardableResult
    package func submit(priority: ImagePriority, _ work: @escaping @Sendable () -> Void) -> Ticket {
        submit(priority: priority, isResumed: false, work)
    }
}
