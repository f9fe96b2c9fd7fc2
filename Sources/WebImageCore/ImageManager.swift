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

    /// Forgets that loading url failed for good, as ImageOptions/retryFailed does for one load.
    public func forgetFailure(of url: URL) {
        parts.failures.forget(key(for: url))
    }

    /// Forgets all failures.
    public func forgetAllFailures() {
        parts.failures.forgetAll()
    }

    /// Starts to load.
    /// - Parameters:
    ///   - request: What to load.
    ///   - progress: Bytes received so far, and in all where that is known. On the main loop.
    ///   - partial: Partial images, with ImageOptions/progressive, and the cached image, with
    ///     ``ImageOptions/refreshCached``. On the main loop.
    ///   - completion: Called exactly once, on the main loop; before this call returns when it is made on the main
    ///     thread and the picture is in the memory cache.
    ///   - dispatcher: Where all of these are called instead. Default: the main loop.
    /// - Returns: A handle to cancel the load or to change its priority.
    @discardableResult
    public func load(
        _ request: ImageRequest,
        on dispatcher: (any CallbackDispatching)? = nil,
        progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        let task = ImageTask(
            request: prepared(request),
            manager: self,
            dispatcher: dispatcher ?? parts.dispatcher,
            handlers: .init(progress: progress, partial: partial, completion: completion)
        )
        start(task)
        return task
    }

    /// The image of a request. Cancelling the awaiting task cancels the load.
    /// - Throws: ImageError; ImageError/Code/cancelled when cancelled.
    public func response(for request: ImageRequest) async throws(ImageError) -> ImageResponse {
        let result: Result<ImageResponse, ImageError>
        // The task exists before either closure runs, so that a cancel finds it however early it comes.
        let resumption = ContinuationBox()
        let task = ImageTask(
            request: prepared(request),
            manager: self,
            dispatcher: InlineDispatcher(),
            handlers: .init { resumption.resume($0) }
        )
        result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                resumption.set(continuation)
                start(task)
            }
        } onCancel: {
            task.cancel()
        }
        return try result.get()
    }

    /// What becomes of a load, step by step, up to ImageUpdate/finished(_:). Ending the loop cancels the load. Who
    /// is slow sees the newest steps.
    ///
    ///     for await update in manager.updates(for: request) { ... }
    public func updates(for request: ImageRequest) -> AsyncStream<ImageUpdate> {
        AsyncStream(bufferingPolicy: .bufferingNewest(8)) { continuation in
            let task = ImageTask(
                request: prepared(request),
                manager: self,
                dispatcher: InlineDispatcher(),
                handlers: .init(
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
            start(task)
        }
    }

    /// Calls handler with every step of every load, on the thread where it happens, as long as the result is kept. It
    /// has to be quick.
    public func observe(_ handler: @escaping @Sendable (LoadTraceEvent) -> Void) -> any AnyObject & Sendable {
        parts.observers.add(handler)
    }

    /// The image of a URL at the size of the file. Cancelling the awaiting task cancels the load.
    /// - Throws: ImageError; ImageError/Code/cancelled when cancelled.
    public func image(for url: URL) async throws(ImageError) -> WebImage {
        try await response(for: ImageRequest(url: url)).image
    }

    /// The image of a request, if the memory cache has it. Takes microseconds; made for the main thread.
    public func cachedImage(for request: ImageRequest) -> WebImage? {
        parts.memoryCache.image(for: MemoryQuery(prepared(request)))
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

/// Brings a continuation and a result together, whichever comes first.
private final class ContinuationBox: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Result<ImageResponse, ImageError>, Never>?
        var result: Result<ImageResponse, ImageError>?
    }

    private let state = Mutex(State())

    func set(_ continuation: CheckedContinuation<Result<ImageResponse, ImageError>, Never>) {
        let result = state.withLock { state in
            if state.result == nil { state.continuation = continuation }
            return state.result
        }
        if let result { continuation.resume(returning: result) }
    }

    func resume(_ result: Result<ImageResponse, ImageError>) {
        let continuation = state.withLock { state in
            state.result = result
            return state.continuation.take()
        }
        continuation?.resume(returning: result)
    }
}
