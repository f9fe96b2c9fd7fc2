import Synchronization

/// A helper of stages 2 and 3: keeps a hanging disk, such as a network file system, from blocking every load. If no read has
/// ended for a while, waiting loads continue as if the disk were empty, and so do later loads until a read ends. Loads that
/// only the disk can answer keep waiting: loads restricted to the caches, and loads over the network while there is none.
struct DiskWatch: PipelineStage {
    struct State {
        var isWatching = false
        var isHanging = false
        /// Whether a read has ended since the last look.
        var isAlive = false
        /// The reads that were waiting at the last look.
        var waiting: Set<JobGraph.LookUp> = []
    }

    let context: StageContext
    private var clock: any TimeKeeping { context.dependencies.diskWatchClock }

    /// Submits a read for a job or a fetch, which keeps the ticket. If the disk hangs, the load continues without it.
    func submit(
        _ lookUp: JobGraph.LookUp,
        _ priority: ImagePriority,
        isResumed: Bool = false,
        _ read: @escaping @Sendable () -> Void
    ) {
        guard begin(graph.withLock { $0.request(of: lookUp) }) else { return goOn(lookUp) }
        let ticket = ioQueue.submit(priority: priority, isResumed: isResumed) {
            read()
            // Even if nothing was read, the thread was not waiting for the disk.
            end()
        }
        // The priority may have changed before the graph had the ticket.
        let current = graph.withLock { $0.setReadTicket(ticket, of: lookUp) }
        if let current, current != priority { ioQueue.setPriority(current, of: ticket) }
    }

    /// Called before a read is queued for a request.
    /// - Returns: Whether the disk may be read.
    func begin(_ request: @autoclosure () -> ImageRequest?) -> Bool {
        let (isHanging, isFirst) = context.disk.withLock { state in
            defer { state.isWatching = true }
            return (state.isHanging, !state.isWatching)
        }
        if isFirst { scheduleLook() }
        return !isHanging || !hasOtherSource(request())
    }

    /// Whether the image of a request may come from somewhere else than the disk.
    private func hasOtherSource(_ request: ImageRequest?) -> Bool {
        guard let request else { return true }
        guard request.cachePolicy.asksLoader, let loader = loaders.loader(for: request) else { return false }
        return loader.canReach(request.url, context.dependencies.network.status)
    }

    /// Called when a read has ended.
    func end() {
        context.disk.withLock { state in
            state.isAlive = true
            state.isHanging = false
        }
    }

    private func scheduleLook() {
        clock.run(after: context.dependencies.diskTimeLimit) { [weak context] in
            if let context { DiskWatch(context: context).look() }
        }
    }

    private func look() {
        let (waiting, overdue) = context.disk.withLock { state in
            // A read that begins during this look is seen by the next one.
            let waiting = graph.withLock { $0.lookUps }
            defer {
                state.waiting = waiting
                state.isAlive = false
                state.isWatching = !waiting.isEmpty
            }
            let overdue = state.isAlive ? [] : waiting.intersection(state.waiting)
            if !overdue.isEmpty { state.isHanging = true }
            return (waiting, overdue)
        }
        let lost = overdue.filter { lookUp in hasOtherSource(graph.withLock { $0.request(of: lookUp) }) }
        if !lost.isEmpty { WebImageLog.error("The disk cache does not answer; images are loaded without it") }
        for lookUp in lost { goOn(lookUp) }
        if !waiting.isEmpty { scheduleLook() }
    }

    private func goOn(_ lookUp: JobGraph.LookUp) {
        switch lookUp {
        case .rendition(let job): graph.update { $0.endLookUp(job, rendition: nil) }
        case .original(let id):
            guard let fetch = graph.withLock({ $0.endLookUp(id) }) else { return }
            diskStage.goOn(id, without: fetch.confirmation)
        }
    }
}
