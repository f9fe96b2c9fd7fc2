public import FoundationEssentials
import Synchronization

/// Loads images: from the memory cache, the disk cache or a loader, decoded off the main thread, each URL once
/// however many ask for it.
///
/// The way of a request, a file each in the folder Flow:
///
///     load -> MemoryStage -> DiskStage -> LoadStage -> DecodeStage -> StoreStage -> completion
///
/// JobGraph knows who waits for what. All methods may be called from any thread.
public final class ImageManager: Sendable {
    let parts: Parts
    let graph = Mutex(JobGraph())
    /// Kept, so that the network monitor goes on to tell of changes.
    private let networkObservation = Mutex<(any AnyObject & Sendable)?>(nil)

    /// Makes a manager of its parts.
    package init(parts: Parts) {
        self.parts = parts
        let observation = parts.network.observe { [weak self] status in
            if status.isAvailable { self?.retryWaiting() }
        }
        networkObservation.withLock { $0 = observation }
        if let interval = parts.maintenanceInterval {
            scheduleMaintenance(after: min(interval, .seconds(60)), interval)
        }
    }

    /// Removes what is too old from the disk now and then, however long the app runs.
    private func scheduleMaintenance(after delay: Duration, _ interval: Duration) {
        guard parts.dataCache != nil || parts.renditionCache != nil else { return }
        parts.clock.run(after: delay) { [weak self] in
            guard let self else { return }
            parts.ioQueue.submit(priority: .veryLow) { [parts] in
                parts.dataCache?.removeExpired()
                parts.renditionCache?.removeExpired()
            }
            scheduleMaintenance(after: interval, interval)
        }
    }

    /// The loaders, for http, https, file, data and resource URLs; more can be added.
    public var loaders: LoaderRegistry { parts.loaders }

    /// What fetches the bytes of a request.
    func loader(for request: ImageRequest) -> (any DataLoading)? {
        request.loader ?? parts.loaders.loader(for: request.url)
    }

    /// The coders; more can be added.
    public var coders: CoderRegistry { parts.coders }

    /// Whether the machine is online, and whether there are reasons to be sparing, as far as the manager knows.
    public var networkStatus: NetworkStatus { parts.network.status }

    /// Calls handler with every change of the network, on any thread, as long as the result is kept.
    package func observeNetwork(
        _ handler: @escaping @Sendable (NetworkStatus) -> Void
    ) -> any AnyObject & Sendable {
        parts.network.observe(handler)
    }

    /// Forgets that loading url failed for good, as ImageRequest/Retry/always does for one load.
    public func forgetFailure(of url: URL) {
        parts.failures.forget(key(for: url))
    }

    /// Forgets all failures.
    public func forgetAllFailures() {
        parts.failures.forgetAll()
    }

    /// Starts to load an image.
    ///
    /// The callbacks run on the main loop. An image in the memory cache is delivered before this call returns, when it
    /// is made on the main thread.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - progress: The bytes received so far and, where the server says so, of all. Default: no progress.
    ///   - partial: Receives partial images, with ``ImageRequest/Loading/progressive``, and the cached image, with
    ///     ``CachePolicy/refresh``. Default: none are made.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        let task = makeTask(
            for: request,
            on: parts.dispatcher,
            handlers: .mainActor(progress: progress, partial: partial, completion: completion)
        )
        task.start()
        return task
    }

    /// Starts to load an image, with callbacks on a dispatcher of the caller's.
    ///
    /// An image in the memory cache is delivered before this call returns, when the dispatcher says that it is the
    /// current one.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - dispatcher: Where the callbacks are called.
    ///   - progress: The bytes received so far and, where the server says so, of all. Default: no progress.
    ///   - partial: Receives partial images, with ``ImageRequest/Loading/progressive``, and the cached image, with
    ///     ``CachePolicy/refresh``. Default: none are made.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        let task = makeTask(
            for: request,
            on: dispatcher,
            handlers: .nonisolated(progress: progress, partial: partial, completion: completion)
        )
        task.start()
        return task
    }

    /// Makes the task of a binding. It is never started: it loads through children, whose requests may differ from its
    /// own, and the binding completes it. It delivers on the main loop.
    package func makeParentTask(
        for request: ImageRequest,
        completion: (@MainActor @Sendable (ImageResult) -> Void)? = nil
    ) -> ImageTask {
        ImageTask(
            request: request,
            manager: self,
            dispatcher: parts.dispatcher,
            handlers: completion.map { .mainActor(progress: nil, partial: nil, completion: $0) }
        )
    }

    /// Makes a task that is not started yet and delivers on the main loop.
    package func makeTask(for request: ImageRequest, handlers: ImageTask.Handlers) -> ImageTask {
        makeTask(for: request, on: parts.dispatcher, handlers: handlers)
    }

    func makeTask(
        for request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        handlers: ImageTask.Handlers?
    ) -> ImageTask {
        ImageTask(request: prepared(request.imageRequest), manager: self, dispatcher: dispatcher, handlers: handlers)
    }

    /// Loads an image, with all that is known about it. Cancelling the awaiting Swift task cancels the load.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public func response(for request: some ImageRequestConvertible) async throws(ImageError) -> ImageResponse {
        let task = makeTask(for: request, on: InlineDispatcher(), handlers: nil)
        // A cancelled task is not started, so that nothing is fetched.
        if Task.isCancelled { task.cancel() }
        task.start()
        return try await task.response
    }

    /// Loads an image. Cancelling the awaiting Swift task cancels the load.
    /// - Parameter request: A URL, for the image at the size of its file, or an ``ImageRequest``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public func image(for request: some ImageRequestConvertible) async throws(ImageError) -> WebImage {
        try await response(for: request).image
    }

    /// Loads an image and reports each step, up to ``ImageUpdate/finished(_:)``. Ending the loop cancels the load. A
    /// slow consumer receives the newest steps.
    ///
    ///     for await update in manager.updates(for: url) { ... }
    ///
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func updates(for request: some ImageRequestConvertible) -> AsyncStream<ImageUpdate> {
        let request = request.imageRequest
        return AsyncStream(bufferingPolicy: .bufferingNewest(8)) { continuation in
            let task = makeTask(
                for: request,
                on: InlineDispatcher(),
                handlers: .nonisolated(
                    progress: { continuation.yield(.progress(received: $0, expected: $1)) },
                    partial: { continuation.yield(.partial($0)) },
                    completion: { result in
                        continuation.yield(.finished(result))
                        continuation.finish()
                    }
                )
            )
            continuation.onTermination = { reason in
                if case .cancelled = reason { task.cancel() }
            }
            task.start()
        }
    }

    /// Calls handler with every step of every load, on the thread where it happens, as long as the result is kept. It
    /// has to be quick.
    public func observe(_ handler: @escaping @Sendable (LoadTraceEvent) -> Void) -> any AnyObject & Sendable {
        parts.observers.add(handler)
    }

    /// The image of a request, if the memory cache has it. Takes microseconds; made for the main thread.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func cachedImage(for request: some ImageRequestConvertible) -> WebImage? {
        parts.memoryCache.image(for: MemoryQuery(prepared(request.imageRequest)))
    }

    /// The same for a request that prepared(_:) has seen.
    func cachedImage(prepared request: ImageRequest) -> WebImage? {
        parts.memoryCache.image(for: MemoryQuery(request))
    }

    /// The same, for those who do not know yet at which size they will show it: with anySize the largest one serves.
    package func cachedImage(for request: ImageRequest, anySize: Bool) -> WebImage? {
        guard anySize else { return cachedImage(for: request) }
        return parts.memoryCache.image(
            for: MemoryQuery(key: ImageKey(prepared(request)), size: nil, acceptsLarger: true)
        )
    }

    /// The caches: what is in them, and the means to empty them.
    public var cache: ImageCache { ImageCache(manager: self) }

    /// Gives memory back. The library does that by itself when the system is short of memory and when no window of the
    /// app is on screen. Images that are shown stay as they are. From any thread.
    public func trimMemory(for pressure: MemoryPressure) {
        parts.memoryCache.trim(toShare: pressure.share)
    }

    /// Pieces of work that wait or run, storing included, for benchmarks that wait for the end.
    package var pendingWorkCount: Int { parts.ioQueue.pendingCount + parts.decodeQueue.pendingCount }

    /// The number of loads under way, for tests and for those who look for leaks.
    package var activeCounts: (images: Int, sources: Int) {
        graph.withLock { ($0.jobs.count, $0.sources.count) }
    }
}
