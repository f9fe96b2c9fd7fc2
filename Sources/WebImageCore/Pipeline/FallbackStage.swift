import FoundationEssentials

/// Around the other stages: child tasks. A fallback URL is loaded in the place of one that failed; a preview URL is
/// shown until the image arrives; bytes that no cache keeps are loaded again.
final class FallbackStage: Sendable {
    private let cacheKeyFilter: CacheKeyFilter?
    private let scaler: ImageScaler?

    init(_ dependencies: Pipeline.Dependencies) {
        cacheKeyFilter = dependencies.cacheKeyFilter
        scaler = dependencies.scaler
    }

    /// Loads the next fallback URL of a task.
    /// - Returns: Whether there is one.
    func start(for task: ImageTask, after error: ImageError) -> Bool {
        guard !error.isCancelled, let url = task.request.fallbackURLs.first else { return false }
        WebImageLog.debug("\(error) The fallback is loaded: \(url.textForMessages)")
        var request = childRequest(of: task, url)
        request.fallbackURLs.removeFirst()
        if !request.isForHostOfURL, let variants = scaler?.variants(of: url) {
            request.cacheKey = nil
            request.choose(from: variants, cacheKeyFilter)
        }
        // Partial images are decoded only when there is a handler for them.
        let partial: @Sendable (WebImage) -> Void = { task.report(partial: $0) }
        return task.startChild(
            request,
            .nonisolated(
                progress: { task.report(received: $0, expected: $1) },
                partial: task.showsPartialImages ? partial : nil,
                completion: { task.finish($0.mapError { $0.following(error) }) }
            )
        )
    }

    /// Loads the preview URL of a task that shows partial images and has none yet.
    func startPreview(for task: ImageTask) {
        guard let url = task.request.previewURL, task.wantsPreview else { return }
        var request = childRequest(of: task, url)
        request.fallbackURLs = []
        request.loading = .complete
        _ = task.startChild(
            request,
            .completion { result in
                guard case .success(let response) = result else { return }
                task.report(partial: response.image.asPreview, as: .other)
            }
        )
    }

    /// Loads the image of a task again for its bytes, past the caches.
    /// - Parameter response: The cached image, which serves without bytes when the loader fails.
    /// - Returns: `false` when the load is limited to the caches.
    func startForData(of task: ImageTask, instead response: ImageResponse) -> Bool {
        guard task.request.cachePolicy.asksLoader else { return false }
        var request = childRequest(of: task, task.request.url)
        request.cacheKey = task.request.cacheKey
        request.cacheAccess.reads = []
        request.fallbackURLs = []
        request.loading = .complete
        return task.startChild(
            request,
            .nonisolated(
                progress: { task.report(received: $0, expected: $1) },
                partial: nil,
                completion: { result in
                    var response = response
                    switch result {
                    case .success(let loaded): response = loaded
                    case .failure(let error): response.refreshError = error
                    }
                    task.finish(.success(response))
                }
            )
        )
    }

    private func childRequest(of task: ImageTask, _ url: URL) -> ImageRequest {
        var request = task.request
        request.forgetVariants()
        request.url = url
        request.priority = task.priority
        (request.previewURL, request.lowDataURL) = (nil, nil)
        request.cacheKey = cacheKeyFilter?.key(for: url)
        return request
    }
}
