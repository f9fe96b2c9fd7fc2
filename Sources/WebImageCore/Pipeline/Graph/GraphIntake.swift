import Synchronization

/// The changes that callers make to the job graph, in the order of their calls.
///
/// The caller is often the main thread in the middle of a frame, so it only appends to a list. One thread makes the changes
/// and carries out their effects. A call never waits for the lock of the graph, and costs the same under any load.
///
/// The graph admits some dozens of image loads at a time. The others wait, which costs next to nothing, so a list of
/// thousands neither delays its first images nor fills the memory. Only loads of the same or a higher priority count,
/// so that urgent loads do not wait for others. The graph reports when a job has ended. If none ends, waiting loads
/// still enter slowly, because the loads inside may wait for a server that does not answer, or for a load outside.
/// Loads of bytes decode nothing and enter at once.
struct GraphIntake: PipelineStage {
    enum Change: Sendable {
        /// A task enters: its image is not in memory, or it loads bytes.
        case enter(any AnyLoadTask)
        case cancel(any AnyLoadTask)
        case updatePriority(any AnyLoadTask)
        /// Ends the suspension, after the changes that were made during it.
        case resume
    }

    struct State {
        var changes: [Change] = []
        /// The array of the previous batch, whose memory the next batch reuses.
        var spare: [Change] = []
        /// The changes that are being made.
        var running: [Change] = []
        /// Whether the thread makes changes or is about to.
        var isScheduled = false
        var isSuspended = false
        /// Whether tasks wait. They wait until the changes that were made before the end of the suspension are done.
        var isHolding = false
        var waiting: WaitingLoads
        /// Whether there may be room for waiting loads, because a job has ended or none has for long.
        var isDue = false
        /// Whether a timer runs that ends the current period.
        var isTimed = false
        /// How many loads may enter after this period although the graph is full: none if there was room for one during it.
        var excess = 0

        var admits: Bool { !isHolding && !waiting.isEmpty }
        var hasMore: Bool { !changes.isEmpty || isDue && admits }
    }

    /// The number of jobs from which loads of no higher priority wait. Fewer keep decoders and connections busy.
    private static let enough = 64
    /// How many loads enter a full graph after a period in which none did: some 2,000 a second.
    private static let excess = (loadCount: 16, period: Duration.milliseconds(8))
    /// How many loads enter before the changes that have arrived in the meantime are made.
    private static let admittedAtOnce = 64

    let context: StageContext

    /// The number of changes that are not made yet.
    var pendingCount: Int {
        context.intake.withLock { max($0.changes.count + $0.running.count, $0.isScheduled ? 1 : 0) }
    }

    /// The number of tasks that wait outside of the graph.
    var waitingCount: Int { context.intake.withLock { $0.waiting.count } }

    /// The tasks that are on their way into the graph or wait outside. A task that is joining may also be in the graph.
    var pendingTasks: [any AnyLoadTask] {
        let (waiting, changes) = context.intake.withLock { ($0.waiting.all, $0.running + $0.changes) }
        return waiting.map(\.task) + changes.compactMap { if case .enter(let task) = $0 { task } else { nil } }
    }

    /// Whether all tasks outside of the graph wait. Tasks inside continue.
    var isSuspended: Bool {
        get { context.intake.withLock { $0.isSuspended } }
        nonmutating set {
            let isResumed = context.intake.withLock { state in
                state.isSuspended = newValue
                if newValue { state.isHolding = true }
                return !newValue && state.isHolding
            }
            if isResumed { add(.resume) }
        }
    }

    func add(_ change: Change) {
        wake { $0.changes.append(change) }
    }

    /// Lets waiting loads into the room that ended jobs have left.
    func jobsEnded() {
        wake { $0.isDue = true }
    }

    private func wake(_ change: (inout State) -> Void) {
        let isFirst = context.intake.withLock { state in
            change(&state)
            guard !state.isScheduled else { return false }
            state.isScheduled = state.hasMore
            return state.isScheduled
        }
        if isFirst { context.dependencies.intakeQueue.submit { self.makeChanges() } }
    }

    private func makeChanges() {
        while var batch = takeBatch() {
            for change in batch { make(change) }
            // Tasks and the closures they hold are released on this thread, and not by the caller of the next change.
            context.intake.release { exchange(&$0.running, with: []) }
            batch.removeAll(keepingCapacity: true)
            context.intake.withLock { $0.spare = batch }
            admit()
        }
    }

    /// The changes to make, empty if loads may only enter; `nil` when there is nothing to do.
    private func takeBatch() -> [Change]? {
        context.intake.withLock { state in
            state.isScheduled = state.hasMore
            guard state.isScheduled else { return nil }
            state.running = exchange(&state.changes, with: exchange(&state.spare, with: []))
            return state.running
        }
    }

    /// Lets waiting loads into the graph, the most urgent first.
    private func admit() {
        var (excess, begins) = context.intake.withLock { state in
            state.isDue = false
            guard !state.isTimed else { return (0, false) }
            defer { (state.isTimed, state.excess) = (state.admits, state.admits ? Self.excess.loadCount : 0) }
            return (state.excess, state.admits)
        }
        if begins {
            SystemClock().run(after: Self.excess.period) { [weak context] in
                if let context { GraphIntake(context: context).wake { ($0.isTimed, $0.isDue) = (false, true) } }
            }
        }
        var count = 0
        while let priority = context.intake.withLock({ $0.waiting.highestPriority() }) {
            let hasRoom = graph.withLock { $0.jobCount(from: priority) < Self.enough }
            guard hasRoom || excess > 0 else { break }
            // Changes that have arrived in the meantime are made first.
            guard count < Self.admittedAtOnce else {
                context.intake.withLock { $0.isDue = true }
                break
            }
            let loads = takeWaiting(hasRoom: hasRoom)
            guard !loads.isEmpty else { break }
            for load in loads { enter(load) }
            context.intake.release { exchange(&$0.running, with: []) }
            count += loads.count
            if !hasRoom { excess -= loads.count }
        }
    }

    /// Removes and returns the loads that are due. They are in `running` until they are in the graph.
    private func takeWaiting(hasRoom: Bool) -> [WaitingLoads.Load] {
        context.intake.withLock { state in
            guard state.admits else { return [] }
            let loads = state.waiting.next()
            state.running = loads.map { .enter($0.task) }
            if hasRoom { state.excess = 0 }
            return loads
        }
    }

    /// Lets a load in.
    /// - Parameter limit: The number of jobs from which the load waits, unless it shares a job or a fetch. Default: it never waits.
    /// - Returns: `false` if the load has to wait.
    @discardableResult
    private func enter(_ load: WaitingLoads.Load, limit: Int = .max) -> Bool {
        // A task that was cancelled while it waited does not enter. If it is cancelled from here on, a later change removes it.
        guard load.task.isLoading else { return true }
        if let task = load.task as? ImageTask { return join(task, age: load.age, limit: limit) }
        // A load of bytes never waits: it decodes nothing, and there are seldom hundreds.
        if let task = load.task as? DataTask { graph.update { $0.read(task, age: load.age) } }
        return true
    }

    private func make(_ change: Change) {
        switch change {
        case .enter(let task): if task.isLoading { take(WaitingLoads.Load(task)) }
        case .cancel(let task):
            if task.interceptedRequest != nil { interceptorStage.cancel(task) }
            let waited = context.intake.release { $0.waiting.remove(task) }
            if !waited { graph.update { $0.cancel(ObjectIdentifier(task)) } }
        case .updatePriority(let task):
            if !context.intake.withLock({ $0.waiting.updatePriority(of: task) }) {
                graph.update { $0.updatePriority(of: ObjectIdentifier(task)) }
            }
        case .resume: context.intake.withLock { $0.isHolding = $0.isSuspended }
        }
    }

    /// Lets a load in, together with loads that wait for the same source, or makes it wait.
    private func take(_ load: WaitingLoads.Load) {
        let (isHolding, first) = context.intake.withLock { state in
            (state.isHolding, state.waiting.highestPriority())
        }
        // A load enters before waiting ones only if it is more urgent or costs nothing.
        let isNext = first.map { $0 < load.task.priority } ?? true
        guard !isHolding, enter(load, limit: isNext ? Self.enough : 0) else {
            return context.intake.withLock { $0.waiting.add(load) }
        }
        guard first != nil, load.task.isLoading else { return }
        let others = context.intake.withLock { state in
            let others = state.waiting.removeAll(withSourceOf: load)
            if !others.isEmpty { state.running += others.map { .enter($0.task) } }
            return others
        }
        for load in others { enter(load) }
    }

    private func join(_ task: ImageTask, age: UInt64, limit: Int) -> Bool {
        let (request, priority) = (task.request, task.priority)
        if let intercepted = task.interceptedRequest {
            let hasRoom = graph.withLock { $0.hasRoom(for: request, at: priority, limit: limit) }
            guard hasRoom else { return false }
            interceptorStage.run(task, intercepted)
            return true
        }
        let queriesRenditions = renditions.isQueried(by: request)
        let endsInMemory = request.readTiers.contains(.memory) && !request.cachePolicy.revalidatesCachedImage
        while true {
            var (hasRoom, isOutdated) = (true, false)
            graph.update { graph in
                hasRoom = graph.hasRoom(for: request, at: priority, limit: limit)
                // A job that has ended since the look has stored its image. The task looks again rather than load that image.
                isOutdated = endsInMemory && task.storeCountAtLook.load(ordering: .relaxed) != memoryCache.storeCount
                return hasRoom && !isOutdated ? graph.join(task, age: age, queriesRenditions: queriesRenditions) : []
            }
            guard hasRoom, isOutdated else { return hasRoom }
            if memoryStage.servesBeforeJoining(task) { return true }
        }
    }
}
