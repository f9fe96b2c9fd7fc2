import Synchronization

/// What callers ask of the job graph, in the order in which they have asked.
///
/// A caller is often the main thread in the middle of a frame, so it only adds to a list. One thread makes the changes and carries
/// out their effects: a call never waits for the lock of the graph, and costs the same however much is under way.
final class GraphIntake: Sendable {
    enum Change: Sendable {
        /// The image of a task is not in memory, so the task joins the job of its image.
        case join(ImageTask)
        case cancel(ImageTask)
        case updatePriority(ImageTask)
    }

    private struct State {
        var changes: [Change] = []
        /// The array of the batch before, whose memory the next one takes.
        var spare: [Change] = []
        /// The changes that are being made.
        var runningCount = 0
        var isScheduled = false
    }

    private let dependencies: Pipeline.Dependencies
    private let memoryCache: any MemoryCaching
    private let observers: Observers<LoadTraceEvent>
    private let graph: SharedGraph
    private let renditions: RenditionTier
    private let delivery: DeliveryStage
    private let queue: WorkQueue
    private let state = Mutex(State())

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        renditions: RenditionTier,
        delivery: DeliveryStage
    ) {
        self.dependencies = dependencies
        memoryCache = dependencies.memoryCache
        observers = dependencies.observers
        queue = dependencies.intakeQueue
        self.graph = graph
        self.renditions = renditions
        self.delivery = delivery
    }

    /// The number of changes that are still to be made.
    var pendingCount: Int { state.withLock { $0.changes.count + $0.runningCount } }

    func add(_ change: Change) {
        let isFirst = state.withLock { state in
            state.changes.append(change)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { queue.submit { self.makeChanges() } }
    }

    private func makeChanges() {
        while var batch = takeBatch() {
            for change in batch { make(change) }
            // Tasks are released here, with what their closures hold, and not by the caller of the next change.
            batch.removeAll(keepingCapacity: true)
            state.withLock { $0.spare = batch }
        }
    }

    private func takeBatch() -> [Change]? {
        state.withLock { state in
            state.runningCount = state.changes.count
            guard !state.changes.isEmpty else {
                state.isScheduled = false
                return nil
            }
            let batch = exchange(&state.changes, with: state.spare)
            state.spare = []
            return batch
        }
    }

    private func make(_ change: Change) {
        switch change {
        case .join(let task): join(task)
        case .cancel(let task): graph.update { $0.cancel(task) }
        case .updatePriority(let task): graph.update { $0.updatePriority(of: task) }
        }
    }

    private func join(_ task: ImageTask) {
        // A task that was cancelled on its way does not join. One that is cancelled from here on leaves with a later change.
        guard !task.isCancelled else { return }
        let request = task.request
        if let image = imageStoredMeanwhile(request) {
            observers.notify(request.url, .memoryHit)
            delivery.deliver(ImageResponse(image: image, source: .memory, url: request.url), to: task)
            return
        }
        let queriesRenditions = renditions.isQueried(by: request)
        graph.update { $0.join(task, queriesRenditions: queriesRenditions) }
    }
    /// The image of a job that has ended since the task looked into memory. The task would be too late for that job, and load the
    /// image again.
    private func imageStoredMeanwhile(_ request: ImageRequest) -> WebImage? {
        guard request.readTiers.contains(.memory), !request.cachePolicy.revalidatesCachedImage else { return nil }
        var query = MemoryQuery(request)
        query.isRepeated = true
        let image = memoryCache.image(for: query)
        return image.flatMap { dependencies.validates($0, for: request) ? nil : $0 }
    }
}
