import Synchronization

/// Beside stages 2 and 3: a disk that hangs, as network file systems do, must not hold every load. When no read has ended
/// for a while, those that wait go on as if the disk had nothing, and so do later ones until a read ends. Loads that have
/// nothing but the disk wait for it: those of the caches only, and those over the network while there is none.
struct DiskWatch: PipelineStage {
    struct State {
        var isWatching = false
        var isHanging = false
        /// Whether a read has ended since the last look.
        var isAlive = false
        /// What waited at the last look.
        var waiting = JobGraph.LookUps()
    }

    let context: StageContext
    private var clock: any TimeKeeping { context.dependencies.diskWatchClock }

    /// Called before a read is queued for a request.
    /// - Returns: Whether the disk is of use.
    func begin(_ request: @autoclosure () -> ImageRequest?) -> Bool {
        let (isHanging, isFirst) = context.disk.withLock { state in
            defer { state.isWatching = true }
            return (state.isHanging, !state.isWatching)
        }
        if isFirst { scheduleLook() }
        return !isHanging || !hasOtherSource(request())
    }

    /// Whether the image of a request may come from elsewhere than the disk.
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
        goOn(overdue)
        if !waiting.isEmpty { scheduleLook() }
    }

    private func goOn(_ overdue: JobGraph.LookUps) {
        let jobs = overdue.jobs.filter { hasOtherSource(graph.job($0)?.request) }
        let fetches = overdue.fetches.filter { hasOtherSource(graph.request(of: $0)) }
        guard !jobs.isEmpty || !fetches.isEmpty else { return }
        WebImageLog.error("The disk cache does not answer; images are loaded without it")
        for job in jobs { graph.update { $0.endLookUp(job, rendition: nil) } }
        for fetch in fetches where graph.withLock({ $0.endLookUp(fetch) }) { fetchStage.load(fetch) }
    }
}
