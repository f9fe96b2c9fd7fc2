public import FoundationEssentials

// Bytes instead of images.
extension ImageManager {
    /// Loads the bytes of a URL and decodes nothing. Cancelling the awaiting Swift task cancels the load.
    ///
    /// It is a load like that of an image: it shares the transfer of one, uses and fills the disk cache, and obeys the policy, the
    /// priority, the retries and the fallback URLs of its request. The size and the transformer do not matter.
    ///
    /// Of a response the status is looked at, and the media type if the downloader is configured to. The bytes may thus be no image
    /// at all: they are returned, but the disk cache keeps only what begins as an image in a format that can be decoded and is
    /// allowed. With a ``CacheSerializer``, which needs the image, it keeps nothing.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public func data(for request: some ImageRequestConvertible) async throws(ImageError) -> Data {
        try await dataResponse(for: request).data
    }

    /// Loads the bytes of a URL, with all that is known about them, as ``data(for:)`` does.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public func dataResponse(for request: some ImageRequestConvertible) async throws(ImageError) -> DataResponse {
        try await load(request)
    }

    /// Starts to load the bytes of a URL, as ``data(for:)`` does. The callbacks run on the main loop.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - progress: The bytes received so far and, where the server says so, of all. Default: no progress.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func loadData(
        _ request: some ImageRequestConvertible,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<DataResponse, ImageError>) -> Void
    ) -> DataTask {
        let task: DataTask = makeTask(
            for: request,
            on: dependencies.dispatcher,
            handlers: .mainActor(progress: progress, partial: nil, completion: { _ in })
        )
        task.addCompletion { result in MainActor.assumeIsolated { completion(result) } }
        task.start()
        return task
    }

    /// Starts to load the bytes of a URL, as ``data(for:)`` does, with callbacks on a dispatcher of the caller's.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - dispatcher: Where the callbacks are called.
    ///   - progress: The bytes received so far and, where the server says so, of all. Default: no progress.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func loadData(
        _ request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        completion: @escaping @Sendable (Result<DataResponse, ImageError>) -> Void
    ) -> DataTask {
        let task: DataTask = makeTask(
            for: request,
            on: dispatcher,
            handlers: .nonisolated(progress: progress, partial: nil, completion: { _ in })
        )
        task.addCompletion(completion)
        task.start()
        return task
    }
}
