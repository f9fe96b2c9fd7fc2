import Synchronization
public import WebImageCore

extension ImageManager {
    private static let sharedManager = Mutex<ImageManager?>(nil)

    /// The manager that widgets use. Made with the default configuration when it is first asked for; an app that wants
    /// another one sets it before that. From any thread.
    public static var shared: ImageManager {
        get {
            sharedManager.withLock { manager in
                if let manager { return manager }
                let made = ImageManager(configuration: ImageManagerConfiguration())
                manager = made
                return made
            }
        }
        set {
            sharedManager.withLock { $0 = newValue }
        }
    }

    /// Makes a manager that fetches with libcurl, decodes with gdk-pixbuf and libwebp, and delivers on the GLib main
    /// loop.
    public convenience init(configuration: ImageManagerConfiguration) {
        let ioQueue = WorkQueue(name: "gwi-io", threadCount: 2)
        let builtIn: [any DataLoading] = [
            configuration.downloader,
            LocalLoader.files(
                queue: ioQueue,
                maximumByteCount: configuration.downloader.configuration.maximumByteCount
            ),
            LocalLoader.dataURLs(queue: ioQueue),
            LocalLoader.resources(queue: ioQueue),
        ]
        let disk = configuration.diskCache.map { DiskCacheLayout($0) }
        if let disk { ioQueue.submit(priority: .veryLow) { disk.prepare() } }
        let pixbuf = PixbufCoder()
        var parts = Parts(
            memoryCache: MemoryCache(
                costLimit: configuration.memoryCacheLimit,
                countLimit: configuration.memoryCacheCountLimit
            ),
            dataCache: configuration.dataCache ?? disk?.originals,
            loaders: LoaderRegistry(configuration.loaders + builtIn),
            coders: CoderRegistry(
                [pixbuf, WebPCoder(), GIFCoder(), PNGCoder(other: pixbuf), JPEGCoder(other: pixbuf)]
                    + configuration.coders,
                encoders: [PNGEncoder(), WebPEncoder(), JPEGEncoder()]
            ),
            dispatcher: MainLoopDispatcher.shared,
            ioQueue: ioQueue,
            decodeQueue: WorkQueue(name: "gwi-decode", threadCount: configuration.decodingThreadCount, niceness: 10)
        )
        parts.renditionCache = disk?.results
        parts.renditionCoder = RenditionCoder()
        parts.maximumPixelCount = configuration.maximumPixelCount
        parts.retryPolicy = configuration.retryPolicy
        parts.failures = FailureCache(lifetime: configuration.failureCacheDuration)
        parts.network = configuration.networkMonitor
        parts.clock = configuration.clock
        parts.keepsThumbHashes = configuration.keepsThumbHashes
        parts.serializer = configuration.cacheSerializer
        parts.requestProcessor = configuration.requestProcessor
        parts.cacheKeyFilter = configuration.cacheKeyFilter
        parts.shouldLoad = configuration.shouldLoad
        parts.shouldRememberFailure = configuration.shouldRememberFailure
        self.init(parts: parts)
        MemoryMonitor.shared.add { [weak self] pressure in
            self?.trimMemory(for: pressure)
            return self != nil
        }
    }
}
