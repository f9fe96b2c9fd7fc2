import Synchronization

/// The job graph behind its lock, as the stages use it. The pipeline applies the effects of a mutation once the lock is
/// free, so that a stage never calls an earlier stage. What a mutation removes is also released then.
final class SharedGraph: Sendable {
    private struct State: Sendable {
        var graph = JobGraph()
        /// Weak, because the pipeline owns the stages and the stages own this object. Every running task retains the
        /// pipeline, so there is nothing left to do when the pipeline is gone.
        weak var pipeline: Pipeline?
    }

    private let state = Mutex(State())
    /// Where decoders are released, because the threads that change the graph include the main thread.
    private let decodeQueue: WorkQueue

    init(decodeQueue: WorkQueue) {
        self.decodeQueue = decodeQueue
    }

    func connect(to pipeline: Pipeline) {
        state.withLock { $0.pipeline = pipeline }
    }

    /// Reads the graph, or changes it in a way whose only effects are those of ended previews and jobs.
    func withLock<R: Sendable>(_ body: (inout JobGraph) -> R) -> R {
        change { (body(&$0), []) }
    }

    /// Changes the graph and applies the effects.
    func update(_ body: (inout JobGraph) -> [JobGraph.Effect]) {
        change { ((), body(&$0)) }
    }

    private func change<R: Sendable>(_ body: (inout JobGraph) -> (R, [JobGraph.Effect])) -> R {
        var (result, effects, hasEnded, pipeline, removals) = state.withLock { state in
            let jobCount = state.graph.jobs.count
            var (result, effects) = body(&state.graph)
            let hasEnded = state.graph.jobs.count < jobCount
            let endings = state.graph.takeEndings()
            if !endings.isEmpty { effects += endings }
            let pipeline = effects.isEmpty && !hasEnded ? nil : state.pipeline
            return (result, effects, hasEnded, pipeline, state.graph.takeRemovals())
        }
        if let decoders = removals.takeDecoders() { decodeQueue.submit(priority: .veryHigh) { decoders.release() } }
        pipeline?.apply(effects)
        if hasEnded { pipeline?.intake.jobsEnded() }
        return withExtendedLifetime(removals) { result }
    }

    func job(_ id: JobGraph.Job.ID) -> JobGraph.Job? {
        state.withLock { $0.graph.jobs[id] }
    }

    /// The request of a fetch: the request of the first task that needs it.
    func request(of id: JobGraph.Fetch.ID) -> ImageRequest? {
        state.withLock { $0.graph.fetches[id]?.request }
    }
}

/// Defers the release of decoders to an explicit call of `release()`, instead of the last thread that holds a reference.
final class DecoderDisposal: Sendable {
    private let decoders: Mutex<[BudgetedIncrementalDecoder]>

    init(_ decoders: [BudgetedIncrementalDecoder]) {
        self.decoders = Mutex(decoders)
    }

    func release() {
        decoders.release { exchange(&$0, with: []) }
    }
}
