import Synchronization

/// Loads images: from the memory cache, the disk cache or a loader, decoded off the main thread, and once for all who
/// ask for the same image. All methods may be called from any thread.
///
/// Pipeline/PathOfARequest.swift says what happens to a request.
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
                if status.isAvailable { pipeline?.retryNow() }
            }
        )
        if let interval = dependencies.maintenanceInterval {
            scheduleMaintenance(after: min(interval, .seconds(60)), interval)
        }
    }

    deinit {
        // Nobody else could start what waits.
        pipeline.isSuspended = false
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

    /// The loaders: those of http, https, file, data and resource URLs, and those that the app adds.
    public var loaders: LoaderRegistry { dependencies.loaders }

    /// The decoders and encoders: the built-in ones and those that the app adds.
    public var coders: CoderRegistry { dependencies.coders }

    /// Whether the machine is online, and whether there is a reason to save data or power. ``observeNetwork(_:)`` reports its changes.
    public var networkStatus: NetworkStatus { network.status }

    /// Whether the app works offline, as a setting of its user may say. Default: `false`.
    ///
    /// Meanwhile the manager asks no server, not even one of this machine or the local network: images come from the caches,
    /// others fail with ``ImageError/Code/offline`` or wait for as long as ``RetryPolicy/offlineWait`` says, and prefetchers
    /// pause. Loads that have started go on. Widgets whose load failed load again when it is `false`. Any thread.
    public var isOffline: Bool {
        get { network.isOffline }
        set { network.isOffline = newValue }
    }

    /// Whether loads wait that have not begun, as while a long list is flung past. Default: `false`.
    ///
    /// Images in memory are delivered all the same. Loads that have begun go on, and those that wait, for this or because dozens of
    /// others are under way, begin when it is `false` again. ``cancelAll()`` ends both. For one window or part of it there is
    /// `areImageLoadsSuspended` of a widget. Any thread.
    public var isSuspended: Bool {
        get { pipeline.isSuspended }
        set { pipeline.isSuspended = newValue }
    }

    /// The loads that have started and have not ended, in no order, with those that wait for others or because of
    /// ``isSuspended``. The load of a widget starts when the widget is on screen. Takes microseconds for each; any thread.
    public var runningTasks: [ImageTask] { pipeline.runningTasks }

    /// Cancels all ``runningTasks``, and the loads of ``data(for:)``. A prefetcher goes on with its next image: see
    /// ``ImagePrefetcher/cancelAll()``. Any thread.
    public func cancelAll() {
        for task in runningTasks { task.cancel() }
        for task in pipeline.runningDataTasks { task.cancel() }
    }

    /// Calls a handler with every change of ``networkStatus``, on any thread, for as long as the token exists.
    public func observeNetwork(_ handler: @escaping @Sendable (NetworkStatus) -> Void) -> ObservationToken {
        network.observe(handler)
    }

    /// Keeps an observation for as long as the manager exists.
    package func retain(_ observation: ObservationToken) {
        observations.withLock { $0.append(observation) }
    }

    /// Removes an image from the failure cache, so that the next load tries it again. ``ImageRequest/RememberedFailure/ignored`` ignores
    /// the failure cache for one load.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func forgetFailure(of request: some ImageRequestConvertible) {
        for key in pipeline.prepare(request.imageRequest).sourceKeys { dependencies.failures.forget(key) }
    }

    /// Empties the failure cache.
    public func forgetAllFailures() {
        dependencies.failures.forgetAll()
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
        let task: ImageTask = makeTask(
            for: request,
            on: dependencies.dispatcher,
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
        let task: ImageTask = makeTask(
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
            PreparedRequest(request: request),
            pipeline: pipeline,
            dispatcher: dependencies.dispatcher,
            handlers: completion.map { .mainActor(progress: nil, partial: nil, completion: $0) }
        )
    }

    /// Makes a task that is not started yet and delivers on the main loop.
    package func makeTask(for request: ImageRequest, handlers: LoadHandlers) -> ImageTask {
        makeTask(for: request, on: dependencies.dispatcher, handlers: handlers)
    }

    /// Makes a task for a request that was prepared, which delivers on the main loop and is not started yet.
    package func makeTask(for prepared: PreparedRequest, handlers: LoadHandlers) -> ImageTask {
        LoadTask(prepared, pipeline: pipeline, dispatcher: dependencies.dispatcher, handlers: handlers)
    }

    func makeTask<Content>(
        for request: some ImageRequestConvertible,
        on dispatcher: any CallbackDispatching,
        handlers: LoadHandlers?
    ) -> LoadTask<Content> {
        let prepared = pipeline.preparation.prepare(request.imageRequest, isIntercepted: Content.self == WebImage.self)
        return LoadTask(prepared, pipeline: pipeline, dispatcher: dispatcher, handlers: handlers)
    }

    /// Loads an image or bytes for a caller that awaits them.
    func load<Content>(_ request: some ImageRequestConvertible) async throws(ImageError) -> LoadResponse<Content> {
        let task: LoadTask<Content> = makeTask(for: request, on: InlineDispatcher(), handlers: nil)
        // A cancelled task is not started, so that nothing is fetched.
        if Task.isCancelled { task.cancel() }
        task.start()
        return try await task.response
    }

    /// Loads an image, with all that is known about it. Cancelling the awaiting Swift task cancels the load.
    /// - Parameter request: A URL or an ``ImageRequest``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public func response(for request: some ImageRequestConvertible) async throws(ImageError) -> ImageResponse {
        try await load(request)
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
    ///     for await update in manager.updates(for: url) { print(update) }
    ///
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func updates(for request: some ImageRequestConvertible) -> AsyncStream<ImageUpdate> {
        let request = request.imageRequest
        return AsyncStream(bufferingPolicy: .bufferingNewest(8)) { continuation in
            let task: ImageTask = makeTask(
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

    /// Calls a handler with every step of every load, on the thread where the step happens, for as long as the token
    /// exists. The handler must be quick.
    public func observe(_ handler: @escaping @Sendable (LoadTraceEvent) -> Void) -> ObservationToken {
        dependencies.observers.add(handler)
    }

    /// What the loaders and the decoders are doing now, for meters and diagnostics. Takes microseconds for a few hundred loads; any
    /// thread.
    public var activity: LoadActivity { pipeline.activity }

    /// The image of a request, if the memory cache has it. Takes microseconds, so that the main thread may call it.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func cachedImage(for request: some ImageRequestConvertible) -> WebImage? {
        pipeline.memory.hit(for: pipeline.prepare(request.imageRequest))?.image
    }

    /// The key under which the caches keep the original of a request and all that is made of it: ``ImageRequest/cacheKey`` or the
    /// URL, after the manager's request processor, the ``CacheKeyFilter`` and, on a metered network, ``ImageRequest/lowDataURL``.
    ///
    /// An app uses it as a name for its own data about an image, in a store of its own (``DataCaching``), or as the `cacheKey` of
    /// another request for the same image. The size and the transformer of a request are no part of it.
    /// - Parameter request: A URL or an ``ImageRequest``.
    public func cacheKey(for request: some ImageRequestConvertible) -> String {
        pipeline.prepare(request.imageRequest).sourceKey
    }

    /// An image in the memory cache for a binding, which shows it within the call of the app.
    package struct MemoryHit {
        package let image: WebImage
        /// The end of the load; `nil` if the request has to be loaded all the same.
        package let response: ImageResponse?
    }

    /// The request as the stages take it. It asks the app's code.
    package func prepare(_ request: ImageRequest) -> PreparedRequest { pipeline.preparation.prepare(request) }

    /// Looks up the image of a load that was not started. A hit that ends the load is reported to the observers.
    /// - Parameters:
    ///   - inAnySize: Whether the size is not known yet, so that the largest image serves best. Such a look counts no miss.
    ///   - isRepeated: Whether the load asks again when it starts, and counts the miss then.
    package func memoryHit(for prepared: PreparedRequest, inAnySize: Bool, isRepeated: Bool = true) -> MemoryHit? {
        let preparation = pipeline.preparation
        let request = prepared.request
        guard request.readTiers.contains(.memory),
            prepared.intercepted.map({ preparation.interceptsMemoryHits(of: $0) }) != true
        else { return nil }
        let memory = pipeline.memory
        let hit = inAnySize ? memory.hit(inAnySizeFor: request) : memory.hit(for: request, isRepeated: isRepeated)
        guard let found = hit else { return nil }
        guard !request.includesData, memory.ends(request, found) else {
            return MemoryHit(image: found.image, response: nil)
        }
        let observers = pipeline.dependencies.observers
        observers.notify(request.url, .requested)
        observers.notify(request.url, .memoryHit)
        observers.notify(request.url, .delivered(.memory), with: found.response)
        return MemoryHit(image: found.image, response: found.response)
    }

    /// The place of the file that fits a request among the variants of its image, the smallest first; `nil` without variants.
    package func variantRank(for request: ImageRequest) -> Int? {
        pipeline.prepare(request).variantRank
    }

    /// Whether a request asks its server though its image is there.
    package func loadsShownImage(of request: ImageRequest) -> Bool {
        pipeline.preparation.process(request).cachePolicy.ignoresFailures
    }

    /// The caches of the manager: what they contain, and how images are added and removed.
    public var cache: ImageCache { ImageCache(manager: self) }

    /// Evicts images from the memory cache, and drops interrupted bodies that could be resumed. The library does so by itself when the
    /// system is short of memory, and when no window of the app is on screen. Images that are shown are not affected.
    public func trimMemory(for pressure: MemoryPressure) {
        dependencies.memoryCache.trim(toShare: pressure.share)
        for case let loader as any NetworkLoading in dependencies.loaders.all {
            loader.trimMemory(toShare: pressure.share)
        }
    }

    /// The pieces of work that wait or run, storing included, for benchmarks that wait for the end.
    package var pendingWorkCount: Int {
        dependencies.decodeQueues.reduce(dependencies.ioQueue.pendingCount) { $0 + $1.pendingCount }
    }

    /// The number of loads and changes of loads that are on their way into the job graph, for tests.
    package var pendingChangeCount: Int { pipeline.pendingChangeCount }

    /// The numbers of jobs and fetches in flight, for tests that look for leaks.
    package var activeCounts: (jobs: Int, fetches: Int) { pipeline.activeCounts }
}
