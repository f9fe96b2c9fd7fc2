public import FoundationEssentials
import Synchronization

/// Loads images from the memory cache, the disk cache or a loader. It decodes them off the main thread, and once for
/// all requests of the same image. You can call all methods from any thread.
///
/// Pipeline/PathOfARequest.swift describes the stages of a load.
public final class ImageManager: Sendable {
    package let pipeline: Pipeline
    private let network: NetworkSwitch
    /// Observations that end with the manager.
    private let observations = Mutex<[ObservationToken]>([])

    package init(dependencies: Pipeline.Dependencies) {
        var dependencies = dependencies
        let machine = dependencies.network
        network = NetworkSwitch(machine)
        dependencies.network = network
        pipeline = Pipeline(dependencies)
        retain(
            machine.observe { [loaders = dependencies.loaders] _ in
                for case let loader as any NetworkLoading in loaders.all { loader.networkDidChange() }
            }
        )
        retain(
            dependencies.network.observe { [weak pipeline] status in
                if status.isAvailable { pipeline?.graph.update { $0.endAllBackoffs() } }
            }
        )
        if let interval = dependencies.maintenanceInterval {
            scheduleMaintenance(after: min(interval, .seconds(60)), interval)
        }
    }

    deinit {
        // Nothing else could start the waiting loads.
        pipeline.intake.isSuspended = false
    }

    var dependencies: Pipeline.Dependencies {
        _read { yield pipeline.dependencies }
    }

    /// Removes expired entries at intervals, for apps that run for days.
    private func scheduleMaintenance(after delay: Duration, _ interval: Duration) {
        let hasExpiringCache =
            dependencies.dataCache != nil || dependencies.renditionCache != nil || dependencies.memoryLifetime != nil
        guard hasExpiringCache else { return }
        dependencies.clock.run(after: delay) { [weak self] in
            guard let self else { return }
            dependencies.ioQueue.submit(priority: .veryLow) { [pipeline] in
                pipeline.dependencies.memoryCache.removeExpired()
                pipeline.dependencies.dataCache?.removeExpired()
                pipeline.dependencies.renditionCache?.removeExpired()
            }
            scheduleMaintenance(after: interval, interval)
        }
    }

    /// The loaders: built-in ones for http, https, file, data and resource URLs, and your own.
    public var loaders: LoaderRegistry { dependencies.loaders }

    /// The decoders and encoders: the built-in ones and your own.
    public var coders: CoderRegistry { dependencies.coders }

    /// Whether the machine is online, and whether to save data or power. ``networkUpdates()`` reports changes.
    public var networkStatus: ImageNetworkStatus { network.status }

    /// Whether the app works offline, for example because its user has chosen so. Default: `false`. You can set it on any thread.
    ///
    /// While it is true, the manager asks no server, not even one on this machine or the local network. Images come
    /// from the caches; other loads fail with ``ImageError/Code/offline`` or wait up to ``ImageRetryPolicy/offlineWait``,
    /// and prefetchers pause. Running loads continue. When it becomes false, widgets whose load has failed load again.
    public var isOffline: Bool {
        get { network.isOffline }
        set { network.isOffline = newValue }
    }

    /// Whether new loads wait, for example while a long list is flung. Default: `false`. You can set it on any thread.
    ///
    /// Images in memory are still delivered. Running loads continue. Waiting loads, including those that wait because
    /// dozens of others are running, start when it becomes false again. ``cancelAll()`` cancels both. For one window or
    /// a part of it, set `images.isSuspended` of a widget.
    public var isSuspended: Bool {
        get { pipeline.intake.isSuspended }
        set { pipeline.intake.isSuspended = newValue }
    }

    /// Returns ``networkStatus`` and its changes, until the manager is released. If you are late, you receive the newest one.
    public func networkUpdates() -> AsyncStream<ImageNetworkStatus> { network.updates() }

    /// Calls a handler with every change of ``networkStatus``, on any thread, for as long as the token exists.
    package func observeNetwork(_ handler: @escaping @Sendable (ImageNetworkStatus) -> Void) -> ObservationToken {
        network.observe(handler)
    }

    /// Keeps an observation for as long as the manager exists.
    package func retain(_ observation: ObservationToken) {
        observations.withLock { $0.append(observation) }
    }

    /// Opens a connection to the server of an https URL before you know which images you need, such as when a search
    /// field gets the focus. The first load then saves the time of the handshakes. Returns at once; any thread.
    ///
    /// Nothing is sent, so only servers with HTTP/2 or HTTP/3 keep the connection open, for up to two minutes; with
    /// HTTP/1.1 nothing is gained. At most four servers are connected to at a time; further calls, failures, and URLs that
    /// `shouldLoad` refuses, have no effect. Loads and prefetches connect by themselves.
    public func preconnect(to url: URL) {
        guard url.scheme?.lowercased() == "https", networkStatus.isAvailable, dependencies.shouldLoad?(url) != false,
            let loader = loaders.loader(for: url) as? any NetworkLoading
        else { return }
        var request = LoaderRequest(url: url)
        (request.connectsOnly, request.shouldLoad) = (true, dependencies.shouldLoad)
        _ = loader.load(request) { _ in }
    }

    /// Removes an image from the failure cache, so that the next load tries again.
    /// ``ImageRequest/RememberedFailure/ignored`` does so for a single load.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func forgetFailure(of request: some ImageRequestConvertible) {
        for key in prepare(request.imageRequest).request.sourceKeys { dependencies.failures.forget(key) }
    }

    /// Empties the failure cache.
    public func forgetAllFailures() {
        dependencies.failures.forgetAll()
    }

    /// Starts to load an image.
    ///
    /// The callbacks run on the main loop. If you call this on the main thread, an image in the memory cache is
    /// delivered before the call returns.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - progress: Receives the number of bytes so far, and the length of the body if the server states it. Default: no progress.
    ///   - partial: Receives partial images with ``ImageRequest/Loading/progressive``, and the cached image with
    ///     ``ImageRequest/CachePolicy-swift.enum/refresh``. Default: none are made.
    ///   - completion: Called exactly once.
    /// - Returns: A handle to cancel the load, to change its priority, or to await it.
    @discardableResult
    public func load(
        _ request: some ImageRequestConvertible,
        progress: (@MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void)? = nil,
        partial: (@MainActor @Sendable (WebImage) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void
    ) -> ImageTask {
        let handlers = LoadHandlers.mainActor(progress: progress, partial: partial, completion: completion)
        let task = makeTask(for: request.imageRequest, handlers: handlers)
        task.start()
        return task
    }

    /// Starts to load an image, with callbacks on your own dispatcher.
    ///
    /// An image in the memory cache is delivered before this call returns, if the call is made where the dispatcher
    /// delivers.
    /// - Parameters:
    ///   - request: A URL or an ``ImageRequest``.
    ///   - dispatcher: Where the callbacks are called.
    ///   - progress: Receives the number of bytes so far, and the length of the body if the server states it. Default: no progress.
    ///   - partial: Receives partial images with ``ImageRequest/Loading/progressive``, and the cached image with
    ///     ``ImageRequest/CachePolicy-swift.enum/refresh``. Default: none are made.
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
        let handlers = LoadHandlers(progress: progress, partial: partial, completion: completion)
        let task: ImageTask = makeTask(for: request, on: dispatcher, handlers: handlers)
        task.start()
        return task
    }

    /// Creates a task that is not started and delivers on the main loop.
    package func makeTask(for request: ImageRequest, handlers: LoadHandlers) -> ImageTask {
        makeTask(for: request, on: dependencies.dispatcher, handlers: handlers)
    }

    func makeTask<Content>(
        for request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        handlers: LoadHandlers?
    ) -> LoadTask<Content> {
        var prepared = prepare(request.imageRequest)
        // Interceptors answer with images.
        if Content.self != WebImage.self { prepared.intercepted = nil }
        return LoadTask(prepared, pipeline: pipeline, dispatcher: dispatcher, handlers: handlers)
    }

    /// Loads an image or bytes for a caller that awaits them.
    func load<Content>(_ request: some ImageRequestConvertible) async throws(ImageError) -> LoadResponse<Content> {
        let task: LoadTask<Content> = makeTask(for: request, on: InlineDispatcher(), handlers: nil)
        // A cancelled task is not started, so nothing is fetched.
        if Task.isCancelled { task.cancel() }
        task.start()
        return try await task.response
    }

    /// Loads an image, and returns it with its source and metadata. Cancelling the awaiting Swift task cancels the load.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func response(for request: some ImageRequestConvertible) async throws(ImageError) -> ImageResponse {
        try await load(request)
    }

    /// Loads an image. Cancelling the awaiting Swift task cancels the load.
    /// - Parameter request: A URL, for the image at the size of its file, or an ``ImageRequest``.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public func image(for request: some ImageRequestConvertible) async throws(ImageError) -> WebImage {
        try await response(for: request).image
    }

    /// Loads an image and reports each step, up to ``ImageUpdate/finished(_:)``. Leaving the loop cancels the load. A
    /// slow consumer receives only the newest steps.
    ///
    ///     for await update in manager.updates(for: url) { print(update) }
    ///
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func updates(for request: some ImageRequestConvertible) -> AsyncStream<ImageUpdate> {
        let request = request.imageRequest
        return AsyncStream(bufferingPolicy: .bufferingNewest(8)) { continuation in
            let task: ImageTask = makeTask(
                for: request,
                on: InlineDispatcher(),
                handlers: LoadHandlers(
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

    /// Returns the steps of all loads from now on, until the manager is released. If you fall 4,096 steps behind, you miss the oldest.
    public func traceEvents() -> AsyncStream<LoadTraceEvent> { dependencies.observers.stream(bufferingNewest: 4096) }

    /// Calls a handler with every step of every load, on the thread of the step, for as long as the token exists.
    package func observe(_ handler: @escaping @Sendable (LoadTraceEvent) -> Void) -> ObservationToken {
        dependencies.observers.add(handler)
    }

    /// The image of a request, if it is in the memory cache. Costs microseconds, so you can call it on the main thread.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func cachedImage(for request: some ImageRequestConvertible) -> WebImage? {
        memoryStage.hit(for: prepare(request.imageRequest).request)?.image
    }

    /// The key under which the caches store the original of a request and everything made from it: ``ImageRequest/cacheKey`` or the
    /// URL, after the manager's request processor, the ``CacheKeyFilter`` and, on a metered network, ``ImageRequest/lowDataURL``.
    ///
    /// Use it to name your own data about an image, in your own store (``DataCaching``), or as the `cacheKey` of
    /// another request for the same image. It does not depend on the size and the transformer of a request.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func cacheKey(for request: some ImageRequestConvertible) -> String {
        prepare(request.imageRequest).request.sourceKey
    }

    package var memoryStage: MemoryStage { pipeline.memoryStage }

    /// The request as the stages use it. This calls code of the app.
    package func prepare(_ request: consuming ImageRequest) -> PreparedRequest { pipeline.preparation.prepare(request) }

    /// The rank of the file that fits a request among the variants of its image, the smallest first; `nil` without variants.
    package func variantRank(for request: ImageRequest) -> Int? {
        prepare(request).request.variantRank
    }

    /// Whether a request asks its server even if its image is already shown.
    package func loadsShownImage(of request: ImageRequest) -> Bool {
        pipeline.preparation.process(request).cachePolicy.ignoresFailures
    }

    /// The caches of the manager: their contents, and how to add and remove images.
    public var cache: ImageCache { ImageCache(manager: self) }

    /// Evicts images from the memory cache, and drops interrupted bodies that could be resumed. The library does this
    /// automatically if memory is short or no window of the app is on screen. Images on screen are not affected.
    public func trimMemory(for pressure: MemoryPressure) {
        dependencies.memoryCache.trim(toShare: pressure.share)
        for case let loader as any NetworkLoading in dependencies.loaders.all {
            loader.trimMemory(toShare: pressure.share)
        }
    }
}
