import Synchronization
public import WebImageCore
import WebImageFormats
import WebImageSandbox

extension ImageManager {
    private static let sharedManager = Mutex<ImageManager?>(nil)

    /// The manager that widgets use, made with the default configuration on first use. Set your own before that. You may use it on
    /// any thread.
    public static var shared: ImageManager {
        get {
            sharedManager.withLock { manager in
                if let manager { return manager }
                let made = ImageManager(configuration: Configuration())
                manager = made
                return made
            }
        }
        set {
            sharedManager.release { exchange(&$0, with: newValue) }
        }
    }

    /// Makes a manager that loads with libcurl, decodes with the system's image libraries, and calls back on the GLib main loop.
    public convenience init(configuration: Configuration) {
        let ioQueue = WorkQueue(name: "gwi-io", threadCount: 2)
        let decodeQueue = WorkQueue(
            name: "gwi-decode",
            threadCount: configuration.decodingThreadCount,
            isBatch: true
        )
        let builtIn: [any DataLoading] = [
            configuration.downloader,
            LocalLoader.files(
                // A file system that hangs must not block the queue that reads the cache.
                queue: WorkQueue(name: "gwi-files", threadCount: 2),
                maximumByteCount: configuration.downloader.configuration.maximumByteCount,
                budget: SystemResources.loadingBudget,
                thumbnails: configuration.thumbnails
            ),
            // These loaders read no disk.
            LocalLoader.dataURLs(queue: decodeQueue),
            LocalLoader.resources(queue: decodeQueue),
        ]
        let disk = configuration.diskCache.map { DiskCaches($0) }
        // The threads of the manager start with its first load.
        if let disk { startOptionalWork { disk.prepare() } }
        if case .system = configuration.downloader.configuration.proxy { _ = DesktopProxies.preparation }
        let other = PixbufCoder()
        let sandbox = configuration.decoding.sandbox
        var formats = configuration.formats
        if let sandbox {
            formats.decodedInWorkers = formats.inWorkers.filter {
                CoderRegistry.hasWorker($0) && sandbox.0.isFenced($0)
            }
        }
        var dependencies = Pipeline.Dependencies(
            memoryCache: MemoryCache(
                costLimit: configuration.maximumMemoryCacheByteCount,
                countLimit: configuration.maximumMemoryCacheCount
            ),
            dataCache: configuration.dataCache ?? disk?.originals,
            loaders: LoaderRegistry(configuration.loaders + builtIn),
            coders: .builtIn(
                adding: configuration.decoders,
                encoders: configuration.encoders,
                other: other,
                sandbox: sandbox,
                neverHere: formats.onlyInWorkers
            ),
            dispatcher: MainLoopDispatcher.shared,
            ioQueue: ioQueue,
            decodeQueue: decodeQueue,
            // Decodes that wait for another process use no processor, so several may run at a time.
            slowQueue: WorkQueue(name: "gwi-slow", threadCount: other.decodesElsewhere(.svg) ? 4 : 1, isBatch: true)
        )
        dependencies.memoryLifetime = configuration.memoryCacheLifetime
        dependencies.budget = SystemResources.loadingBudget
        dependencies.admitsNewestFirst = configuration.downloader.configuration.transferOrder == .lastInFirstOut
        dependencies.maximumByteCount = configuration.downloader.configuration.maximumByteCount
        dependencies.formats = formats
        dependencies.renditionCache = disk?.renditions
        dependencies.renditionCoder = RenditionCoder()
        dependencies.maximumPixelCount = configuration.maximumPixelCount
        dependencies.keepsWideColors = WideColorDisplay.isAvailable
        dependencies.retryPolicy = configuration.retryPolicy
        dependencies.failures = FailureCache(lifetime: configuration.failureCacheDuration)
        dependencies.network = configuration.networkMonitor
        dependencies.clock = configuration.clock
        dependencies.keepsThumbHashes = configuration.keepsThumbHashes
        dependencies.serializer = configuration.cacheSerializer
        dependencies.requestProcessor = configuration.requestProcessor
        dependencies.interceptors = configuration.interceptors
        dependencies.scaler = configuration.scaling?.makeScaler()
        dependencies.cacheKeyFilter = configuration.cacheKeyFilter
        dependencies.shouldLoad = configuration.shouldLoad
        self.init(dependencies: dependencies)
        retain(configuration.memoryMonitor.observe { [weak self] pressure in self?.trimMemory(for: pressure) })
    }
}

extension ImagePrefetcher {
    private static let sharedPrefetcher = Mutex<ImagePrefetcher?>(nil)

    /// The prefetcher of ImageManager.shared.
    public static var shared: ImagePrefetcher {
        let manager = ImageManager.shared
        let (current, replaced) = sharedPrefetcher.withLock { prefetcher in
            if let prefetcher, prefetcher.manager === manager { return (prefetcher, nil as ImagePrefetcher?) }
            let made = ImagePrefetcher(manager: manager)
            // Releasing the old prefetcher may run its deinit, so the lock must be free.
            return (made, exchange(&prefetcher, with: made))
        }
        return withExtendedLifetime(replaced) { current }
    }
}
