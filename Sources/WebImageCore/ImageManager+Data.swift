public import FoundationEssentials

// Loads of bytes instead of images.
extension ImageManager {
    /// Loads the bytes of a URL and decodes nothing. Cancelling the awaiting Swift task cancels the load.
    ///
    /// It works like a load of an image: it shares the transfer of such a load, uses and fills the disk cache, and follows
    /// the policy, priority, retries and fallback URLs of its request. The size and the transformer have no effect.
    ///
    /// Only the status of a response is checked, and the media type if the downloader is configured to. The bytes may
    /// therefore not be an image. They are returned in any case, but the disk cache stores only bytes that begin as an
    /// image in an allowed format with a decoder. With a ``CacheSerializer``, which needs the image, it stores nothing.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func data(for request: some ImageRequestConvertible) async throws(ImageError) -> Data {
        try await dataResponse(for: request).data
    }

    /// Loads the bytes of a URL as ``data(for:)`` does, and returns them with their metadata.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func dataResponse(for request: some ImageRequestConvertible) async throws(ImageError) -> DataResponse {
        try await load(request)
    }

    /// Starts to load the bytes of a URL, as ``data(for:)`` does. The callbacks run on the main loop.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - progress: Receives the number of bytes so far, and the length of the body if the server states it. Default: no progress.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func loadData(
        _ request: some ImageRequestConvertible,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<DataResponse, ImageError>) -> Void
    ) -> DataTask {
        let handlers = LoadHandlers.mainActor(progress: progress) { _ in }
        let task: DataTask = makeTask(for: request, on: dependencies.dispatcher, handlers: handlers)
        task.addCompletion { result in MainActor.assumeIsolated { completion(result) } }
        task.start()
        return task
    }

    /// Starts to load the bytes of a URL, as ``data(for:)`` does, with callbacks on your own dispatcher.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - dispatcher: Where the callbacks are called.
    ///   - progress: Receives the number of bytes so far, and the length of the body if the server states it. Default: no progress.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func loadData(
        _ request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        completion: @escaping @Sendable (Result<DataResponse, ImageError>) -> Void
    ) -> DataTask {
        let handlers = LoadHandlers(progress: progress) { _ in }
        let task: DataTask = makeTask(for: request, on: dispatcher, handlers: handlers)
        task.addCompletion(completion)
        task.start()
        return task
    }
}
