import FoundationEssentials

/// What the stages of a pipeline share.
final class StageContext: Sendable {
    let dependencies: Pipeline.Dependencies
    let graph: SharedGraph
    let memory: MemoryLookUp
    let renditions: RenditionTier
    let maker: ImageMaker
    let scheduler: DecodeScheduler

    init(_ dependencies: Pipeline.Dependencies) {
        self.dependencies = dependencies
        graph = SharedGraph(decodeQueue: dependencies.decodeQueue)
        memory = MemoryLookUp(dependencies)
        renditions = RenditionTier(dependencies)
        maker = ImageMaker(dependencies)
        scheduler = DecodeScheduler(dependencies, graph: graph, maker: maker, renditions: renditions)
    }
}

/// A stage of the pipeline. Its stored properties are the stages that it calls, and its state.
protocol PipelineStage: Sendable {
    var context: StageContext { get }
}

extension PipelineStage {
    var graph: SharedGraph { context.graph }
    var memory: MemoryLookUp { context.memory }
    var renditions: RenditionTier { context.renditions }
    var maker: ImageMaker { context.maker }
    var scheduler: DecodeScheduler { context.scheduler }
    var memoryCache: any MemoryCaching { context.dependencies.memoryCache }
    var memoryLifetime: Duration? { context.dependencies.memoryLifetime }
    var dataCache: (any DataCaching)? { context.dependencies.dataCache }
    var loaders: LoaderRegistry { context.dependencies.loaders }
    var ioQueue: WorkQueue { context.dependencies.ioQueue }
    var decodeQueue: WorkQueue { context.dependencies.decodeQueue }
    var budget: MemoryBudget { context.dependencies.budget }
    var versions: ImageVersions { context.dependencies.versions }
    var observers: Observers<LoadTraceEvent> { context.dependencies.observers }
    var clock: any TimeKeeping { context.dependencies.clock }
}
