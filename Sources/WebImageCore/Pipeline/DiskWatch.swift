import Synchronization

/// Beside stages 2 and 3: a disk that hangs, as network file systems do, must not hold every load. When no read has ended
/// for a while, those that wait go on as if the disk had nothing, and so do later ones until a read ends.
final class DiskWatch: Sendable {
    private struct State {
        var isWatching = false
        var isHanging = false
        /// Whether a read has ended since the last look.
        var isAlive = false
        /// What waited at the last look.
        var waiting = JobGraph.LookUps()
    }

    private let limit: Duration
    private let clock: any TimeKeeping
    private let graph: SharedGraph
    private let state = Mutex(State())
    /// Continues a fetch without the disk.
    private let giveUp: @Sendable (JobGraph.Fetch.ID) -> Void

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        giveUp: @escaping @Sendable (JobGraph.Fetch.ID) -> Void
    ) {
        limit = dependencies.diskTimeLimit
        clock = dependencies.diskWatchClock
        self.graph = graph
        self.giveUp = giveUp
    }

    /// Called before a read is queued.
    /// - Returns: Whether the disk is of use.
    func begin() -> Bool {
        let (isUsable, isFirst) = state.withLock { state in
            defer { state.isWatching = true }
            return (!state.isHanging, !state.isWatching)
        }
        if isFirst { scheduleLook() }
        return isUsable
    }

    /// Called when a read has ended.
    func end() {
        state.withLock { state in
            state.isAlive = true
            state.isHanging = false
        }
    }

    private func scheduleLook() {
        clock.run(after: limit) { [weak self] in self?.look() }
    }

    private func look() {
        let (waiting, overdue) = state.withLock { state in
            // A read that begins meanwhile starts to watch after this look.
            let waiting = graph.withLock { $0.lookUps }
            defer {
                state.waiting = waiting
                state.isAlive = false
                state.isWatching = !waiting.isEmpty
            }
            let overdue = state.isAlive ? JobGraph.LookUps() : waiting.intersection(state.waiting)
            if !overdue.isEmpty { state.isHanging = true }
            return (waiting, overdue)
        }
        if !overdue.isEmpty {
            WebImageLog.error("The disk cache does not answer; images are loaded without it")
            for job in overdue.jobs { graph.update { $0.endLookUp(job, rendition: nil) } }
            for fetch in overdue.fetches { giveUp(fetch) }
        }
        if !waiting.isEmpty { scheduleLook() }
    }
}
