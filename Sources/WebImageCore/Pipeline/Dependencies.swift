package import FoundationEssentials

extension Pipeline {
    /// The parts that a pipeline is made of. Its stages share them in their ``StageContext``.
    package struct Dependencies: Sendable {
        package var memoryCache: MemoryCache
        /// How long an image may be served from memory if its request sets no lifetime; `nil` for no limit.
        package var memoryLifetime: Duration?
        /// The cache of original files.
        package var dataCache: (any DataCaching)?
        /// The cache of images at the sizes at which they were shown.
        package var renditionCache: DiskCache?
        package var renditionCoder: (any RenditionCoding)?
        package var loaders: LoaderRegistry
        package var coders: CoderRegistry
        /// Where the callbacks of tasks are called, unless the caller passes another dispatcher.
        var dispatcher: any CallbackDispatching
        /// Reads and writes files.
        var ioQueue: WorkQueue
        /// Decodes and transforms.
        package var decodeQueue: WorkQueue
        /// Decodes images that can take seconds, so that other images need not wait for them.
        var slowQueue: WorkQueue
        /// Changes the job graph on behalf of callers: one thread, which keeps their order.
        var intakeQueue = WorkQueue(name: "gwi-intake", threadCount: 1)
        /// Whether the newest of the loads that wait outside of the job graph enters first.
        package var admitsNewestFirst = false
        /// The memory of all loads.
        package var budget = MemoryBudget(limit: 1 << 30)
        /// The largest number of bytes of an asynchronous loader.
        package var maximumByteCount = 128 << 20
        package var formats = AllowedFormats()
        package var maximumPixelCount = DecodeOptions().maximumPixelCount
        /// Whether images keep wide colors, because the toolkit shows them.
        package var keepsWideColors = false
        /// How often expired entries are removed from the disk; `nil` for never.
        var maintenanceInterval: Duration? = .seconds(3600)
        /// Whether a ThumbHash is stored with each original.
        package var keepsThumbHashes = false
        /// How long the disk may leave all reads unanswered before loads continue without it.
        var diskTimeLimit = Duration.seconds(2)
        /// The clock of `diskTimeLimit`.
        var diskWatchClock: any TimeKeeping = SystemClock()
        package var serializer: CacheSerializer?
        package var retryPolicy = ImageRetryPolicy()
        package var failures = FailureCache(lifetime: .seconds(300))
        package var cacheKeyFilter: CacheKeyFilter?
        /// The server that scales images to the sizes at which they are shown.
        package var scaler: ImageScaler?
        /// The interceptors of the app, the outermost first.
        package var interceptors: [any ImageIntercepting] = []
        package var requestProcessor: (@Sendable (ImageRequest) -> ImageRequest)?
        package var shouldLoad: (@Sendable (URL) -> Bool)?
        package var observers = Observers<LoadTraceEvent>()
        /// Keeps what the app stores in order.
        var storeOrder = StoreOrder()
        /// Tells whether the images that loads work with were replaced or removed.
        var versions = ImageVersions()
        package var network: any NetworkMonitoring = AlwaysOnline()
        package var clock: any TimeKeeping = SystemClock()

        package init(
            memoryCache: MemoryCache,
            dataCache: (any DataCaching)?,
            loaders: LoaderRegistry,
            coders: CoderRegistry,
            dispatcher: any CallbackDispatching,
            ioQueue: WorkQueue,
            decodeQueue: WorkQueue,
            slowQueue: WorkQueue? = nil
        ) {
            self.memoryCache = memoryCache
            self.dataCache = dataCache
            self.loaders = loaders
            self.coders = coders
            self.dispatcher = dispatcher
            self.ioQueue = ioQueue
            self.decodeQueue = decodeQueue
            self.slowQueue = slowQueue ?? decodeQueue
        }
    }
}

extension Pipeline.Dependencies {
    /// The queues that decode.
    var decodeQueues: [WorkQueue] { slowQueue === decodeQueue ? [decodeQueue] : [decodeQueue, slowQueue] }

    /// Remembers a failure that is permanent.
    func recordFailure(_ error: ImageError, _ request: ImageRequest) {
        // Bytes on this machine are quickly read again.
        guard error.isPermanent, loaders.loader(for: request)?.shouldCacheOnDisk(request.url) == true else { return }
        failures.remember(error, for: request, now: clock.now)
    }
}

extension [WorkQueue] {
    /// The error of a load when one of the queues has no thread and the system starts none.
    func shortage(for url: URL) -> ImageError? {
        lazy.map { $0.start() }.first { $0 != 0 }.map { .noThread(for: url, $0) }
    }
}

extension LoaderRegistry {
    /// The loader set on the request, or the first registered loader that accepts its URL.
    func loader(for request: ImageRequest) -> (any DataLoading)? { request.loader ?? loader(for: request.url) }
}
