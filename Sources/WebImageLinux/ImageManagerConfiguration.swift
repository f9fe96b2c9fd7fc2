public import FoundationEssentials
public import WebImageCore

/// What a manager is made with. Every limit has a default, and none is unbounded.
public struct ImageManagerConfiguration: Sendable {
    /// Bytes of decoded pixels that the memory cache keeps. Default: an eighth of the machine's memory, at most 256
    /// MiB.
    public var memoryCacheLimit: Int
    /// Images that the memory cache keeps. Default: 10,000.
    public var memoryCacheCountLimit: Int
    /// The disk cache; nil: there is none. Default: see DiskCacheConfiguration.
    public var diskCache: DiskCacheConfiguration?
    /// Keeps originals in the place of the disk cache. Default: none.
    public var dataCache: (any DataCaching)?
    /// Decides what the disk cache keeps of an image. Default: the bytes as they came.
    public var cacheSerializer: CacheSerializer?
    /// Whether a ThumbHash of each image is made when it is first decoded, and kept with its original on disk:
    /// for ImageCache.thumbHash(for:), and to be shown while a load with ImageOptions.progressive decodes what
    /// the disk has. Costs about a millisecond an image. Default: no.
    public var keepsThumbHashes = false
    /// Images with more pixels are turned down. Default: 134,217,728.
    public var maximumPixelCount: Int
    /// What fetches http and https URLs. Default: ImageDownloader/shared.
    public var downloader: ImageDownloader
    /// When a load that failed is tried again. Default: see RetryPolicy.
    public var retryPolicy: RetryPolicy
    /// How long failures that are for good are remembered instead of being met again: an image that is not there
    /// (404, 410), one that cannot be decoded. Default: 5 minutes; zero: not at all.
    public var failureCacheDuration: Duration
    /// Changes requests before anything else is done with them: options for all, another host. Quick, and from any
    /// thread; called again for each look into the memory cache. Default: nothing.
    public var requestProcessor: (@Sendable (ImageRequest) -> ImageRequest)?
    /// Says under which names URLs are cached. Default: under themselves.
    public var cacheKeyFilter: CacheKeyFilter?
    /// Whether a URL may be asked for when no cache has it; if not, the load ends in
    /// ImageError.Code.invalidRequest. Default: yes.
    public var shouldLoad: (@Sendable (_ url: URL) -> Bool)?
    /// Whether a failure is remembered. Default: when it is for good (404, 410, bad data).
    public var shouldRememberFailure: (@Sendable (_ url: URL, _ error: ImageError) -> Bool)?
    /// Loaders of the app's own, asked before those of the library, the first one first.
    public var loaders: [any DataLoading]
    /// Coders of the app's own, asked before those of the library, the last one first.
    public var coders: [any ImageDecoding]
    /// Images that are decoded at a time. Default: the number of processors, at most 8.
    public var decodingThreadCount: Int
    /// Tests put their own in its place, and in that of the next one.
    package var clock: any TimeKeeping = SystemClock()
    package var networkMonitor: any NetworkMonitoring = NetworkMonitor.shared

    /// Makes a configuration of defaults.
    public init() {
        memoryCacheCountLimit = 10_000
        memoryCacheLimit = min(SystemResources.memorySize / 8, 256 << 20)
        diskCache = DiskCacheConfiguration()
        maximumPixelCount = DecodeOptions().maximumPixelCount
        downloader = .shared
        retryPolicy = RetryPolicy()
        failureCacheDuration = .seconds(300)
        loaders = []
        coders = []
        decodingThreadCount = min(SystemResources.processorCount, 8)
    }
}
