import FoundationEssentials

/// Stage 7, on the dispatcher of each task: its callbacks.
struct DeliveryStage: PipelineStage {
    let context: StageContext
    /// Delivers a response or an error, unless a fallback URL is loaded after the error.
    func deliver<Content>(_ result: LoadTask<Content>.Ending, to task: LoadTask<Content>) {
        if case .failure(let error) = result, fallbackStage.start(for: task, after: error) { return }
        task.finish(result)
    }

    /// Delivers an image that was found in a cache, with the bytes of its file if the request wants them. Bytes that no
    /// cache keeps, such as those of a local file or of a response with no-store, are loaded again.
    /// - Parameter isNow: Whether the image is delivered within this call if the caller is on the thread of the callbacks.
    func deliver(_ response: ImageResponse, to task: ImageTask, isNow: Bool = false) {
        guard task.request.includesData else { return task.finish(.success(response), isNow: isNow) }
        ioQueue.submit(priority: task.priority) { [self] in
            var response = response
            response.data = dataCache?.entry(for: task.request.sourceKey)?.data
            if response.data == nil, fallbackStage.startForData(of: task, instead: response) { return }
            task.finish(.success(response))
        }
    }

    /// Ends a fetch, and all tasks that wait for it, with an error.
    func fail(_ id: JobGraph.Fetch.ID, _ error: ImageError) {
        WebImageLog.debug("\(error)")
        let now = clock.now
        let (told, readers, tasks) = graph.withLock { graph in
            (graph.fetches[id]?.ending(with: error, at: now) ?? error, graph.finishReaders(of: id), graph.failFetch(id))
        }
        for task in tasks { deliver(.failure(told), to: task) }
        for reader in readers { deliver(.failure(told), to: reader) }
    }
}
