import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

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
        /// A task wants bytes, and no image.
        case read(DataTask)
        case cancelRead(DataTask)
        case updateReadPriority(DataTask)

        /// Whether a task that is to join or to read was cancelled.
        var isCancelled: Bool {
            switch self {
            case .join(let task): task.isCancelled
            case .read(let task): task.isCancelled
            case .cancel, .updatePriority, .cancelRead, .updateReadPriority: false
            }
        }
    }

    private struct State {
        var changes: [Change] = []
        /// The array of the batch before, whose memory the next one takes.
        var spare: [Change] = []
        /// The changes that are being made.
        var running: [Change] = []
        var isScheduled = false
        var isSuspended = false
        /// The tasks that came while the intake was suspended, as the changes by which they join, and how many of them were
        /// cancelled since they were last counted.
        var held: [Change] = []
        var cancelledCount = 0
    }

    private let memory: MemoryLookUp
    private let observers: Observers<LoadTraceEvent>
    private let graph: SharedGraph
    private let renditions: RenditionTier
    private let interceptors: InterceptorStage
    private let delivery: DeliveryStage
    private let queue: WorkQueue
    private let state = Mutex(State())

    init(
        _ dependencies: Pipeline.Dependencies,
        memory: MemoryLookUp,
        graph: SharedGraph,
        renditions: RenditionTier,
        interceptors: InterceptorStage,
        delivery: DeliveryStage
    ) {
        self.memory = memory
        observers = dependencies.observers
        queue = dependencies.intakeQueue
        self.graph = graph
        self.renditions = renditions
        self.interceptors = interceptors
        self.delivery = delivery
    }

    /// The number of changes that are still to be made.
    var pendingCount: Int { state.withLock { $0.changes.count + $0.running.count } }

    /// The number of tasks that wait outside of the graph.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// The tasks that are on their way into the graph, or wait outside. One that joins right now may be in the graph, too.
    var pendingTasks: (images: [ImageTask], data: [DataTask]) {
        let changes = state.withLock { $0.held + $0.running + $0.changes }
        return (
            changes.compactMap { if case .join(let task) = $0 { task } else { nil } },
            changes.compactMap { if case .read(let task) = $0 { task } else { nil } }
        )
    }

    /// Whether tasks wait outside of the graph. Those within go on.
    var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set {
            let isFirst = state.withLock { state in
                state.isSuspended = newValue
                guard !newValue, !state.held.isEmpty else { return false }
                state.changes.insert(contentsOf: exchange(&state.held, with: []), at: 0)
                state.cancelledCount = 0
                defer { state.isScheduled = true }
                return !state.isScheduled
            }
            if isFirst { queue.submit { self.makeChanges() } }
        }
    }

    func add(_ change: Change) {
        let isFirst = state.withLock { state in
            state.changes.append(change)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if isFirst { queue.submit { self.makeChanges() } }
    }

    private func makeChanges() {
        repeat {
            while let (changes, isSuspended) = takeBatch() {
                var batch = changes
                for change in batch where !(isSuspended && hold(change)) { make(change) }
                state.withLock { $0.running = [] }
                // Tasks are released here, with what their closures hold, and not by the caller of the next change.
                batch.removeAll(keepingCapacity: true)
                state.withLock { $0.spare = batch }
            }
        } while hasChangesSoon() || !endIfIdle()
    }

    /// Rests before the thread goes to sleep for good. A list binds dozens of images within a frame, and waking the thread for
    /// each would take the main thread a quarter of the time of a bind.
    private func hasChangesSoon() -> Bool {
        usleep(100)
        return state.withLock { !$0.changes.isEmpty }
    }

    private func endIfIdle() -> Bool {
        state.withLock { state in
            state.isScheduled = !state.changes.isEmpty
            return state.changes.isEmpty
        }
    }

    /// Keeps a task outside of the graph while the intake is suspended.
    /// - Returns: Whether there is nothing more to do for the change.
    private func hold(_ change: Change) -> Bool {
        let (isHeld, _) = state.withLock { state -> (Bool, [Change]) in
            guard state.isSuspended else { return (false, []) }
            switch change {
            case .join, .read:
                state.held.append(change)
                return (true, [])
            case .cancel, .cancelRead:
                state.cancelledCount += 1
                // A list that is scrolled past would keep every task that it has given up.
                guard state.cancelledCount > max(100, state.held.count / 2) else { return (false, []) }
                state.cancelledCount = 0
                let all = exchange(&state.held, with: [])
                state.held = all.filter { !$0.isCancelled }
                return (false, all)
            case .updatePriority, .updateReadPriority:
                return (false, [])
            }
        }
        return isHeld
    }

    private func takeBatch() -> (changes: [Change], isSuspended: Bool)? {
        state.withLock { state in
            guard !state.changes.isEmpty else { return nil }
            state.running = exchange(&state.changes, with: exchange(&state.spare, with: []))
            return (state.running, state.isSuspended)
        }
    }

    private func make(_ change: Change) {
        switch change {
        case .join(let task): join(task)
        case .cancel(let task): graph.update { $0.cancel(task) }
        case .updatePriority(let task): graph.update { $0.updatePriority(of: task) }
        case .read(let task): if !task.isCancelled { graph.update { $0.read(task) } }
        case .cancelRead(let task): graph.update { $0.cancel(task) }
        case .updateReadPriority(let task): graph.update { $0.updatePriority(of: task) }
        }
    }

    private func join(_ task: ImageTask) {
        // A task that was cancelled on its way does not join. One that is cancelled from here on leaves with a later change.
        guard !task.isCancelled else { return }
        if let intercepted = task.interceptedRequest { return interceptors.run(task, intercepted) }
        let request = task.request
        if let hit = imageStoredMeanwhile(request) {
            observers.notify(request.url, .memoryHit, of: task)
            delivery.deliver(ImageResponse(image: hit.image, source: .memory, url: hit.url), to: task)
            return
        }
        let queriesRenditions = renditions.isQueried(by: request)
        graph.update { $0.join(task, queriesRenditions: queriesRenditions) }
    }

    /// The image of a job that has ended since the task looked into memory. The task would be too late for that job, and load the
    /// image again.
    private func imageStoredMeanwhile(_ request: ImageRequest) -> MemoryHit? {
        guard request.readTiers.contains(.memory), !request.cachePolicy.revalidatesCachedImage else { return nil }
        let hit = memory.hit(for: request, isRepeated: true)
        return hit.flatMap { memory.validates($0.image, for: request) ? nil : $0 }
    }
}
