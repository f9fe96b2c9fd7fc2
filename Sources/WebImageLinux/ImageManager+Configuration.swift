public import FoundationEssentials
public import WebImageCore
import WebImageFormats

extension ImageManager {
    /// The settings of an image manager. Every limit has a finite default.
    public struct Configuration: Sendable {
        /// The limit of the memory cache in bytes of decoded pixels. Default: an eighth of the machine's memory, at
        /// most 256 MiB.
        public var maximumMemoryCacheByteCount: Int
        /// The number of images that the memory cache keeps. Default: 10,000.
        public var maximumMemoryCacheCount: Int
        /// How long the memory cache serves an image after it has got it, unless ImageRequest.cacheLifetime says so. Default: `nil`,
        /// until it is evicted.
        public var memoryCacheLifetime: Duration?
        /// The disk cache; `nil` for none. Default: see ``DiskCache``.
        public var diskCache: DiskCache?
        /// A store for original files that replaces the disk cache's. Default: none.
        public var dataCache: (any DataCaching)?
        /// Decides which bytes of an image the disk cache keeps. Default: the bytes as loaded.
        public var cacheSerializer: CacheSerializer?
        /// Whether a ThumbHash of each image is made when it is first decoded and is stored with its original file.
        ///
        /// ImageCache.thumbHash(for:) returns it, and a load with ImageRequest.Loading.progressive shows it while a
        /// cached file is decoded. Making one takes about a millisecond. Default: false.
        public var keepsThumbHashes = false
        /// The largest number of pixels of an image; a larger image fails with
        /// ``/WebImageCore/ImageError/Code/imageTooLarge``. Default: 134,217,728.
        public var maximumPixelCount: Int
        /// The formats that images may have, by where they come from; another one fails with
        /// ``/WebImageCore/ImageError/Code/formatNotAllowed``. Default: the usual formats of the web and TIFF, and
        /// every installed format from files and resources.
        public var formats = AllowedFormats()
        /// The loader of http and https URLs. Default: ``ImageDownloader/shared``.
        public var downloader: ImageDownloader
        /// When a failed load is retried. Default: see ImageRetryPolicy.
        public var retryPolicy: ImageRetryPolicy
        /// How long permanent failures are remembered, such as a missing file (404, 410) or a damaged image. Meanwhile
        /// a load fails at once. Default: 5 minutes; zero: not at all.
        public var failureCacheDuration: Duration
        /// A function that changes every request before it is processed, for example to set options for all loads. It
        /// must be quick, may be called from any thread, and is called for each memory-cache lookup. Default: none.
        public var requestProcessor: (@Sendable (ImageRequest) -> ImageRequest)?
        /// The app's code around each load, the outermost first. Default: none. See ImageIntercepting.
        public var interceptors: [any ImageIntercepting] = []
        /// Maps URLs to cache keys. Default: the URL is the key.
        public var cacheKeyFilter: CacheKeyFilter?
        /// Whether a URL that is in no cache may be loaded; otherwise the load fails with
        /// ``/WebImageCore/ImageError/Code/invalidRequest``. It is also called for the target of each redirect, and when
        /// libcurl takes the host for another one, as 2130706433 and 127.1 for 127.0.0.1, for the URL with that host.
        /// Called from any thread. Default: true.
        public var shouldLoad: (@Sendable (_ url: URL) -> Bool)?
        /// The app's own loaders, which are asked in this order and before the library's.
        public var loaders: [any DataLoading]
        /// The app's own decoders, which are asked in this order and before the library's.
        public var decoders: [any ImageDecoding]
        /// The app's own encoders, which are asked in this order and before the library's.
        public var encoders: [any ImageEncoding]
        /// Where the library's decoders run. Default: ``Decoding/automatic``, in workers without rights.
        public var decoding = Decoding.automatic
        /// The number of images that are decoded at a time. Default: the number of processors, at most 8.
        public var decodingThreadCount: Int
        /// The thumbnails of local files that WebImageDesktop finds.
        package var thumbnails: (any SharedThumbnailFinding)?
        /// The service of WebImageServices that scales images.
        package var scaling: (any ImageScaling)?
        /// The clock, which tests replace.
        package var clock: any TimeKeeping = SystemClock()
        /// The network monitor, which tests replace.
        package var networkMonitor: any NetworkMonitoring = NetworkMonitor.shared
        /// The memory monitor, which tests replace.
        package var memoryMonitor = MemoryMonitor.shared

        /// Creates a configuration with the default settings.
        public init() {
            maximumMemoryCacheCount = 10_000
            maximumMemoryCacheByteCount = min(SystemResources.memorySize / 8, 256 << 20)
            diskCache = DiskCache()
            maximumPixelCount = DecodeOptions().maximumPixelCount
            downloader = .shared
            retryPolicy = ImageRetryPolicy()
            failureCacheDuration = .seconds(300)
            loaders = []
            decoders = []
            encoders = []
            decodingThreadCount = min(SystemResources.processorCount, 8)
        }
    }
}

extension ImageManager.Configuration {
    /// The settings of a disk cache.
    ///
    /// The directory holds original files, each followed by the response of its server, and renditions: decoded images at the size at
    /// which they were shown. A CACHEDIR.TAG file marks it as a cache, so that backups leave it out.
    public struct DiskCache: Sendable {
        /// The path of the directory. Default: $XDG_CACHE_HOME/<app id>/web-images/default.
        public var directory: String
        /// The limit in bytes of everything in the directory. Default: a tenth of the free space, at most 500 MB. It is
        /// found out when the cache is first written, and each time that it is read here, which asks the file system.
        public var maximumByteCount: Int {
            get { ownSizeLimit ?? Self.defaultSizeLimit(at: directory) }
            set { ownSizeLimit = newValue }
        }
        /// The limit of the app.
        var ownSizeLimit: Int?
        /// The limit until the free space is known.
        static let largestDefaultSizeLimit = 500_000_000
        /// The share of that limit that renditions may take, 0 to 1; 0 keeps none. Default: a quarter.
        public var renditionShare = 0.25
        /// The age at which an entry is removed. Default: a week.
        public var maximumAge = Duration.seconds(604_800)
        /// The date from which the age counts. Default: the last use.
        public var expiry = CacheExpiry.lastUse
        /// Directories that are searched after a miss and never written to, for images that come with the app. A file
        /// is named by ImageCache.fileName(for:) and may be any image.
        public var readOnlyDirectories: [String] = []

        /// Makes the default settings.
        /// - Parameter namespace: The last component of the directory. Managers with equal namespaces share entries.
        public init(namespace: String = "default") {
            self.init(directory: CacheDirectory.standard(namespace: namespace))
        }

        /// Makes the default settings for a directory.
        public init(directory: String) {
            self.directory = directory
        }

        static func defaultSizeLimit(at directory: String) -> Int {
            min((SystemResources.freeDiskSize(at: directory) ?? .max) / 10, largestDefaultSizeLimit)
        }
    }
}
