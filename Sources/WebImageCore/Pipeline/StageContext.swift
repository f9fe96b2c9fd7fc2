import Synchronization

/// The state that the stages of a pipeline share: its parts, the jobs, and the state of individual stages.
final class StageContext: Sendable {
    let dependencies: Pipeline.Dependencies
    let graph: SharedGraph
    let maker: ImageMaker
    let writer: DiskWriter
    /// The queues that every load needs.
    let requiredQueues: [WorkQueue]
    /// The queues that issue the tickets of jobs and fetches. Each one ignores the tickets of the others.
    let ticketQueues: [WorkQueue]
    let intake: Mutex<GraphIntake.State>
    let disk = Mutex(DiskWatch.State())
    /// The tasks that wait for the disk to look for a larger file.
    let waitingForVariants = Mutex<[ObjectIdentifier: ImageTask]>([:])
    /// The tasks whose interceptors are still running.
    let intercepted = Mutex<[ObjectIdentifier: InterceptorStage.Running]>([:])

    init(_ dependencies: Pipeline.Dependencies) {
        self.dependencies = dependencies
        graph = SharedGraph(decodeQueue: dependencies.decodeQueue)
        maker = ImageMaker(dependencies)
        let caches: [(any DataCaching)?] = [dependencies.renditionCache, dependencies.dataCache]
        writer = DiskWriter(
            caches.compactMap { $0 },
            ioQueue: dependencies.ioQueue,
            decodeQueue: dependencies.decodeQueue
        )
        requiredQueues = [dependencies.intakeQueue, dependencies.ioQueue, dependencies.decodeQueue]
        ticketQueues = [dependencies.ioQueue] + dependencies.decodeQueues
        intake = Mutex(GraphIntake.State(waiting: WaitingLoads(newestFirst: dependencies.admitsNewestFirst)))
    }
}

/// A stage of the pipeline: a value around the shared context, which calls the next stage by its name.
protocol PipelineStage: Sendable {
    var context: StageContext { get }
}

extension PipelineStage {
    var graph: SharedGraph { context.graph }
    var preparation: RequestPreparation { RequestPreparation(context: context) }
    var renditions: RenditionTier { RenditionTier(context: context) }
    var maker: ImageMaker { context.maker }
    var memoryCache: MemoryCache { context.dependencies.memoryCache }
    var dataCache: (any DataCaching)? { context.dependencies.dataCache }
    var loaders: LoaderRegistry { context.dependencies.loaders }
    var ioQueue: WorkQueue { context.dependencies.ioQueue }
    var decodeQueue: WorkQueue { context.dependencies.decodeQueue }
    var budget: MemoryBudget { context.dependencies.budget }
    var versions: ImageVersions { context.dependencies.versions }
    var observers: Observers<LoadTraceEvent> { context.dependencies.observers }
    var clock: any TimeKeeping { context.dependencies.clock }
}
