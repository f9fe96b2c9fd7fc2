package import FoundationEssentials

// Around the other stages: another URL in the place of one that costs too much or that fails, and one that is shown
// until it is there. Each is a load of its own.
extension ImageManager {
    /// A request as the app's configuration wants it: run before anything else is done with it.
    func prepared(_ request: ImageRequest) -> ImageRequest {
        var request = request
        if let processor = parts.requestProcessor { request = processor(request) }
        if let low = request.lowDataURL, parts.network.status.isMetered {
            request.url = low
            request.cacheKey = nil
        }
        if request.cacheKey == nil, let filter = parts.cacheKeyFilter {
            request.cacheKey = filter.key(for: request.url)
        }
        return request
    }

    /// The name of a URL in the caches.
    package func key(for url: URL) -> String { parts.cacheKeyFilter?.key(for: url) ?? url.absoluteString }

    /// Loads the next URL of those that a task may do with.
    /// - Returns: Whether there is one.
    func startFallback(for task: ImageTask, after error: ImageError) -> Bool {
        guard !error.isCancelled, let url = task.request.fallbackURLs.first else { return false }
        WebImageLog.debug("\(error) Another URL is tried: \(url.absoluteString.prefix(200))")
        var request = task.request
        request.url = url
        request.fallbackURLs.removeFirst()
        (request.cacheKey, request.previewURL, request.lowDataURL) = (nil, nil, nil)
        return startChild(of: task, request, isPreview: false) { task.finish($0, isLast: true) }
    }

    /// Loads what is shown until the image itself is there.
    func startPreview(for task: ImageTask) {
        guard let url = task.request.previewURL, task.showsPartialImages else { return }
        var request = task.request
        request.url = url
        request.fallbackURLs = []
        (request.cacheKey, request.previewURL, request.lowDataURL) = (nil, nil, nil)
        request.loading = .complete
        _ = startChild(of: task, request, isPreview: true) { result in
            guard case .success(let response) = result else { return }
            task.report(preview: response.image.with { $0.isPartial = true })
        }
    }

    private func startChild(
        of task: ImageTask,
        _ request: ImageRequest,
        isPreview: Bool,
        _ completion: @escaping @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> Bool {
        var request = request
        request.priority = task.priority
        if let filter = parts.cacheKeyFilter { request.cacheKey = filter.key(for: request.url) }
        var handlers = ImageTask.Handlers.completion(completion)
        if !isPreview {
            // Partial images are decoded only when there is a handler for them.
            let partial: @Sendable (WebImage) -> Void = { task.report(partial: $0) }
            handlers = .nonisolated(
                progress: { task.report(received: $0, expected: $1) },
                partial: task.showsPartialImages ? partial : nil,
                completion: completion
            )
        }
        let child = ImageTask(request: request, manager: self, dispatcher: InlineDispatcher(), handlers: handlers)
        guard task.adopt(child) else { return false }
        child.start()
        return true
    }
}
