package import FoundationEssentials

extension ImageManager {
    /// What a manager is made of.
    package struct Parts: Sendable {
        package var memoryCache: any MemoryCaching
        /// Originals.
        package var dataCache: (any DataCaching)?
        /// Pictures at the size at which they were shown.
        package var resultCache: DiskCache?
        package var resultCoder: (any ResultCoding)?
        package var loaders: LoaderRegistry
        package var coders: CoderRegistry
        package var dispatcher: any CallbackDispatching
        /// Reads and writes files.
        package var ioLane: WorkLane
        /// Decodes and transforms.
        package var decodeLane: WorkLane
        package var maximumPixelCount = DecodeOptions().maximumPixelCount
        /// The shortest time between two partial pictures of a load.
        package var partialInterval = Duration.milliseconds(100)
        /// How often what is too old is removed from the disk.
        package var maintenanceInterval: Duration? = .seconds(3600)
        /// Whether originals on disk have a blurred version beside them.
        package var keepsThumbHashes = false
        package var serializer: CacheSerializer?
        package var retryPolicy = RetryPolicy()
        package var failures = FailureCache(lifetime: .seconds(300))
        package var cacheKeyFilter: CacheKeyFilter?
        package var requestProcessor: (@Sendable (ImageRequest) -> ImageRequest)?
        package var mayLoad: (@Sendable (URL) -> Bool)?
        package var remembersFailure: (@Sendable (URL, ImageError) -> Bool)?
        package var observers = LoadObservers()
        package var network: any NetworkMonitoring = AlwaysOnline()
        package var clock: any TimeKeeping = SystemClock()

        package init(
            memoryCache: any MemoryCaching,
            dataCache: (any DataCaching)?,
            loaders: LoaderRegistry,
            coders: CoderRegistry,
            dispatcher: any CallbackDispatching,
            ioLane: WorkLane,
            decodeLane: WorkLane
        ) {
            self.memoryCache = memoryCache
            self.dataCache = dataCache
            self.loaders = loaders
            self.coders = coders
            self.dispatcher = dispatcher
            self.ioLane = ioLane
            self.decodeLane = decodeLane
        }
    }
}
