import FoundationEssentials

/// Around the other stages: child tasks. A fallback URL is loaded in place of a URL that failed; a preview URL is shown
/// until the image arrives; bytes that no cache keeps are loaded again.
struct FallbackStage: PipelineStage {
    let context: StageContext
    private var cacheKeyFilter: CacheKeyFilter? { context.dependencies.cacheKeyFilter }
    private var scaler: ImageScaler? { context.dependencies.scaler }

    /// Loads the next fallback URL of a task.
    /// - Returns: Whether there is one.
    func start<Content>(for task: LoadTask<Content>, after error: ImageError) -> Bool {
        guard let request = fallback(of: task.request, after: error, priority: task.priority) else { return false }
        // A cached file that was tried in place of the variant that fits shows the same image.
        let isOther = task.request.variantChoice?.replacedRank == nil
        return task.startChild(request, task.forwarding) { result in
            switch result {
            case .success(var response):
                if isOther { response.fallbackError = error }
                task.finish(.success(response))
            case .failure(let last): task.finish(.failure(last.following(error)))
            }
        }
    }

    private func fallback(
        of request: ImageRequest,
        after error: ImageError,
        priority: ImagePriority
    ) -> ImageRequest? {
        guard !error.isCancelled, let url = request.fallbackURLs.first else { return nil }
        WebImageLog.debug("\(error) The fallback is loaded: \(url.textForMessages)")
        if request.hasRareAttributes, let rank = request.variantChoice?.replacedRank {
            // The file that fits, under its own key.
            var next = request.with(variant: rank)
            next.variantChoice?.isFinal = true
            next.fallbackURLs.removeFirst()
            (next.priority, next.previewURL, next.lowDataURL) = (priority, nil, nil)
            return next
        }
        var next = childRequest(of: request, url, priority: priority)
        next.fallbackURLs.removeFirst()
        if !next.isForHostOfURL, let variants = scaler?.variants(of: url) {
            next.cacheKey = nil
            next.choose(from: variants, cacheKeyFilter)
        }
        return next
    }

    /// Loads the preview of a task that shows partial images and has not shown one yet.
    func startPreview(_ url: URL, for task: ImageTask) {
        guard task.wantsPreview else { return }
        var request = childRequest(of: task.request, url, priority: task.priority)
        request.fallbackURLs = []
        request.loading = .complete
        _ = task.startChild(request, nil) { result in
            guard case .success(let response) = result else { return }
            task.report(partial: response.image.asPreview, as: .other)
        }
    }

    /// Loads the image of a task again for its bytes, bypassing the caches.
    /// - Parameter response: The cached image, which is delivered without bytes if the loader fails.
    /// - Returns: `false` if the load is limited to the caches.
    func startForData(of task: ImageTask, instead response: ImageResponse) -> Bool {
        guard task.request.cachePolicy.asksLoader else { return false }
        var request = childRequest(of: task.request, task.request.url, priority: task.priority)
        request.cacheKey = task.request.cacheKey
        request.cacheAccess.reads = []
        request.fallbackURLs = []
        request.loading = .complete
        return task.startChild(request, task.forwarding) { result in
            var response = response
            switch result {
            case .success(let loaded): response = loaded
            case .failure(let error): response.refreshError = error
            }
            task.finish(.success(response))
        }
    }

    private func childRequest(of parent: ImageRequest, _ url: URL, priority: ImagePriority) -> ImageRequest {
        var request = parent
        request.forgetVariants()
        request.url = url
        request.priority = priority
        (request.previewURL, request.lowDataURL) = (nil, nil)
        request.cacheKey = cacheKeyFilter?.key(for: url)
        return request
    }
}
