import FoundationEssentials
import Synchronization

/// The loading half of a manager, which applies the effects of the graph. PathOfARequest.swift says what happens to a request.
package final class Pipeline: PipelineStage {
    package var dependencies: Dependencies { context.dependencies }
    let context: StageContext
    private let coderObservation: ObservationToken

    init(_ dependencies: Dependencies) {
        context = StageContext(dependencies)
        coderObservation = dependencies.coders.observeAdditions { [weak failures = dependencies.failures] in
            failures?.forgetUndecodable()
        }
        graph.connect(to: self)
    }

    /// Carries out the effects of a change of the graph. The lock of the graph is free by then.
    func apply(_ effects: [JobGraph.Effect]) {
        for effect in effects {
            switch effect {
            case .lookUpRendition(let job, let priority):
                diskWatch.submit(.rendition(job), priority) { [renditionStage] in renditionStage.read(job) }
            case .lookUpOriginal(let fetch, let priority): diskStage.lookUp(fetch, priority)
            case .load(let fetch): fetchStage.load(fetch)
            case .recover(let fetch, let error): retryStage.recover(fetch, from: error)
            case .decodeWhole(let job, let data): decodeStage.submit(job, data)
            case .refresh(let request): refresh(request)
            case .startStreaming(let operation): operation.startStreaming()
            case .prioritize(let ticket, let priority):
                for queue in context.ticketQueues { queue.setPriority(priority, of: ticket) }
                budget.setPriority(priority, of: ticket)
            case .prioritizeLoad(let operation, let priority): operation.setPriority(priority)
            case .cancel(let ticket):
                for queue in context.ticketQueues { queue.cancel(ticket) }
                budget.cancel(ticket)
            case .cancelLoad(let operation): operation.cancel()
            case .abandonLoad(let fetch, let operation):
                // A load that is nearly complete is finished for the disk cache.
                let isStored = operation.isNearlyComplete && dataCache != nil
                graph.withLock { $0.takeAbandonedFetch(fetch, unlessStored: isStored) }?.cancel()
            }
        }
    }

    /// Loads a cached image again for its next use: one conditional request, whose result goes only to the caches.
    private func refresh(_ request: ImageRequest) {
        var request = request
        // The other fields of the request say which image it is and where it is cached.
        request.loading = .complete
        request.cachePolicy = .refresh
        request.priority = .low
        let prepared = PreparedRequest(request: request)
        ImageTask(prepared, pipeline: self, dispatcher: InlineDispatcher(), handlers: nil).start()
    }
}
