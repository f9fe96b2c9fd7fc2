import FoundationEssentials
import Synchronization

// First stage: the memory cache, on the caller's thread, and joining what is under way.
extension ImageManager {
    func start(_ task: ImageTask) {
        guard task.begin() else { return }
        let request = task.request
        parts.observers.notify(request.url, .queued)
        if request.effectiveCaching.query.contains(.memory), let image = cachedImage(prepared: request) {
            parts.observers.notify(request.url, .memoryHit)
            guard request.options.contains(.refreshCached) else {
                let response = ImageResponse(image: image, source: .memory, url: request.url)
                if request.wantsData { finishWithData(task, response) } else { task.finishNow(.success(response)) }
                return
            }
            task.reportNow(partial: image)
        } else {
            parts.observers.notify(request.url, .memoryMiss)
            showSmaller(task)
        }
        guard !request.url.absoluteString.isEmpty else {
            task.finish(.failure(.invalidURL(request.url, "The URL is empty")))
            return
        }
        let queriesRenditions = request.effectiveCaching.query.contains(.disk) && hasRenditionTier(request)
        startPreview(for: task)
        perform(graph.withLock { $0.join(task, queriesRenditions: queriesRenditions) })
        // A cancel that came before the task was in the graph found nothing to leave.
        if task.isCancelled { leave(task) }
    }

    /// Ends a load whose image is at hand with the bytes that the disk cache has.
    func finishWithData(_ task: ImageTask, _ response: ImageResponse) {
        parts.ioQueue.submit(priority: task.priority) { [parts] in
            var response = response
            response.data = parts.dataCache?.entry(for: task.request.sourceKey)?.data
            task.finish(.success(response))
        }
    }

    /// Shows the image at another size until it is there at the right one.
    private func showSmaller(_ task: ImageTask) {
        let request = task.request
        guard task.wantsPartialImages, request.effectiveCaching.query.contains(.memory) else { return }
        let query = MemoryQuery(key: ImageKey(request), size: nil, acceptsLarger: true)
        if let image = parts.memoryCache.image(for: query) {
            task.reportNow(partial: image.with { $0.isPartial = true })
        }
    }

    /// Tells those who watch how a load has ended.
    func tellEnd(of task: ImageTask, _ result: Result<ImageResponse, ImageError>) {
        switch result {
        case .success(let response): parts.observers.notify(task.request.url, .delivered(response.source))
        case .failure(let error):
            parts.observers.notify(task.request.url, error.isCancelled ? .cancelled : .failed(error))
        }
    }

    func leave(_ task: ImageTask) {
        perform(graph.withLock { $0.leave(task) })
    }

    func priorityChanged(of task: ImageTask) {
        perform(graph.withLock { $0.updatePriority(ofTask: task) })
    }

    func perform(_ changes: [JobGraph.Change]) {
        for change in changes {
            switch change {
            case .lookUp(let job, let priority): lookUp(job, priority)
            case .begin(let source, let priority): begin(source, priority)
            case .startStreaming(let operation): operation.startStreaming()
            case .prioritizeRead(let ticket, let priority): parts.ioQueue.setPriority(priority, of: ticket)
            case .prioritizeLoad(let operation, let priority): operation.setPriority(priority)
            case .prioritizeDecode(let ticket, let priority): parts.decodeQueue.setPriority(priority, of: ticket)
            case .dropRead(let ticket): parts.ioQueue.cancel(ticket)
            case .leaveLoad(let source, let operation):
                // Nearly there: the caches want it, if nobody else does.
                if operation.isNearlyComplete, isStored(source) { continue }
                perform(graph.withLock { $0.dropUnwanted(source) })
            case .dropLoad(let operation): operation.cancel()
            case .dropDecode(let ticket): parts.decodeQueue.cancel(ticket)
            }
        }
    }
}

extension ImageManager {
    private func isStored(_ id: JobGraph.Identifier) -> Bool {
        guard parts.dataCache != nil, let request = graph.withLock({ $0.sources[id]?.request }) else { return false }
        return request.effectiveCaching.storesOriginals
    }
}

extension ImageError {
    static func invalidURL(_ url: URL?, _ reason: String) -> ImageError {
        ImageError(
            .invalidURL,
            url: url,
            reason: reason,
            remedy: "Use an http, https, file, data or resource URL, or give the manager a loader for this scheme."
        )
    }
}
