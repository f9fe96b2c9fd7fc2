// The loads of a manager, and how much work they are.
extension ImageManager {
    /// The loads that have started and not ended, in no particular order, including waiting ones (see ``isSuspended``).
    /// The load of a widget starts when the widget is on screen. Costs microseconds for each load; any thread.
    public var runningTasks: [ImageTask] {
        // A task that moves on between two reads is in both lists.
        roots(
            of: pipeline.variantStage.tasks + pendingTasks() + pipeline.interceptorStage.tasks
                + pipeline.graph.withLock { $0.jobs.values.flatMap(\.tasks) }
        )
    }

    /// Cancels all ``runningTasks``, and the loads of ``data(for:)``, on any thread. A prefetcher continues with its
    /// next image: see ``ImagePrefetcher/cancelAll()``.
    public func cancelAll() {
        for task in runningTasks { task.cancel() }
        let readers: [DataTask] = pendingTasks() + pipeline.graph.withLock { $0.fetches.values.flatMap(\.readers) }
        for task in roots(of: readers) { task.cancel() }
    }

    /// The tasks of a kind that have not entered the graph.
    private func pendingTasks<Content>() -> [LoadTask<Content>] {
        pipeline.intake.pendingTasks.compactMap { $0 as? LoadTask }
    }

    /// The tasks as their callers know them.
    private func roots<Content>(of tasks: [LoadTask<Content>]) -> [LoadTask<Content>] {
        var seen: Set<ObjectIdentifier> = []
        return tasks.map(\.root).filter { !$0.isFinished && seen.insert(ObjectIdentifier($0)).inserted }
    }

    /// The current work of the loaders and the decoders, for meters and diagnostics. Costs microseconds for a few
    /// hundred loads; any thread.
    public var activity: LoadActivity {
        let decodes = dependencies.decodeQueues.map(\.load)
        return LoadActivity(
            transferCount: pipeline.graph.withLock { $0.fetches.values.count { $0.attempt != nil } },
            decodeCount: decodes.reduce(0) { $0 + $1.running },
            waitingDecodeCount: decodes.reduce(0) { $0 + $1.waiting }
        )
    }

    /// The number of pending work items, including writes, for benchmarks that wait for the end.
    package var pendingWorkCount: Int {
        dependencies.decodeQueues.reduce(dependencies.ioQueue.pendingCount) { $0 + $1.pendingCount }
    }

    /// The number of changes that have not reached the job graph yet, for tests.
    package var pendingChangeCount: Int { pipeline.intake.pendingCount }

    /// The numbers of jobs and fetches in flight, for tests that look for leaks. Loads that have not entered the graph
    /// yet count as jobs.
    package var activeCounts: (jobs: Int, fetches: Int) {
        // The lists are read in the order in which a load passes them, so none is missed.
        let intake = pipeline.variantStage.tasks.count + pipeline.intake.pendingCount + pipeline.intake.waitingCount
        let pendingCount = intake + pipeline.interceptorStage.tasks.count
        return pipeline.graph.withLock { ($0.jobs.count + pendingCount, $0.fetches.count) }
    }
}
