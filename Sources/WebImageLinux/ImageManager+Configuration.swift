public import FoundationEssentials
public import WebImageCore
import WebImageFormats

extension ImageManager {
    /// The settings of an image manager. Every limit has a finite default.
    public struct Configuration: Sendable {
        /// The limit of the memory cache in bytes of decoded pixels. Default: an eighth of the machine's memory, at most 256 MiB.
        public var maximumMemoryCacheByteCount: Int
        /// The number of images that the memory cache keeps. Default: 10,000.
        public var maximumMemoryCacheCount: Int
        /// How long the memory cache keeps an image, unless ImageRequest.cacheLifetime is set. Default: `nil`, until the image is
        /// evicted.
        public var memoryCacheLifetime: Duration?
        /// The disk cache; `nil` for none. Default: see ``DiskCache``.
        public var diskCache: DiskCache?
        /// A store that replaces the disk cache for original files. Default: none.
        public var dataCache: (any DataCaching)?
        /// Chooses the bytes of an image that the disk cache keeps. Default: the bytes as loaded.
        public var cacheSerializer: CacheSerializer?
        /// Whether to make a ThumbHash when an image is first decoded, and to store it with the original file.
        ///
        /// ImageCache.thumbHash(for:) returns the hash, and a load with ImageRequest.Loading.progressive shows it while a cached
        /// file is decoded. Making one takes about a millisecond. Default: false.
        public var keepsThumbHashes = false
        /// The largest number of pixels of an image; larger images fail with ``/WebImageCore/ImageError/Code/imageTooLarge``.
        /// Default: 134,217,728.
        public var maximumPixelCount: Int
        /// The formats that images may have, by origin; other formats fail with ``/WebImageCore/ImageError/Code/formatNotAllowed``.
        /// Default: the usual formats of the web; HEIC, JPEG XL, SVG and TIFF if a worker decodes them; every installed format
        /// from files and resources.
        public var formats = AllowedFormats()
        /// The loader of http and https URLs. Default: ``ImageDownloader/shared``.
        public var downloader: ImageDownloader
        /// When to retry a failed load. Default: see ImageRetryPolicy.
        public var retryPolicy: ImageRetryPolicy
        /// How long to remember permanent failures, such as a missing file (404, 410) or a damaged image. Until then, loads fail at
        /// once. Default: 5 minutes. Zero remembers none.
        public var failureCacheDuration: Duration
        /// Changes every request before it is processed, for example to set options for all loads. Called on any thread for each
        /// memory-cache lookup, so it must be fast. Default: none.
        public var requestProcessor: (@Sendable (ImageRequest) -> ImageRequest)?
        /// Your code around each load, the outermost first. Default: none. See ImageIntercepting.
        public var interceptors: [any ImageIntercepting] = []
        /// Maps URLs to cache keys. Default: the URL is the key.
        public var cacheKeyFilter: CacheKeyFilter?
        /// Whether a URL that is in no cache may be loaded; otherwise the load fails with
        /// ``/WebImageCore/ImageError/Code/invalidRequest``. Also called for the target of each redirect and, if libcurl rewrites
        /// the host, for the rewritten URL: 2130706433 and 127.1 become 127.0.0.1. Called on any thread. Default: true.
        public var shouldLoad: (@Sendable (_ url: URL) -> Bool)?
        /// Your loaders, tried in this order before the library's.
        public var loaders: [any DataLoading]
        /// Your decoders, tried in this order before the library's.
        public var decoders: [any ImageDecoding]
        /// Your encoders, tried in this order before the library's.
        public var encoders: [any ImageEncoding]
        /// Where the library's decoders run. Default: ``Decoding/automatic``, in workers without rights.
        public var decoding = Decoding.automatic
        /// The number of images that are decoded at a time. Default: the number of processors, at most 8.
        public var decodingThreadCount: Int
        /// The source of thumbnails for local files, from WebImageDesktop.
        package var thumbnails: (any SharedThumbnailFinding)?
        /// The service that scales images, from WebImageServices.
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
    /// The directory holds original files, each followed by the response of its server, and renditions: images decoded at the size
    /// shown. A CACHEDIR.TAG file excludes the directory from backups.
    public struct DiskCache: Sendable {
        /// The path of the directory. Default: $XDG_CACHE_HOME/<app id>/web-images/default. The name of the program replaces the
        /// app ID if no GApplication exists when you make these settings.
        public var directory: String
        /// The limit in bytes of everything in the directory. Default: a tenth of the free space, at most 500 MB, measured when the
        /// cache is first written. Reading the default asks the file system.
        public var maximumByteCount: Int {
            get { ownSizeLimit ?? Self.defaultSizeLimit(at: directory) }
            set { ownSizeLimit = newValue }
        }
        /// The limit that the app has set; `nil` for the default.
        var ownSizeLimit: Int?
        /// The default limit until the free space has been measured.
        static let largestDefaultSizeLimit = 500_000_000
        /// The share of the limit that renditions may use, 0 to 1; 0 keeps none. Default: a quarter.
        public var renditionShare = 0.25
        /// The age at which an entry is removed. Default: a week.
        public var maximumAge = Duration.seconds(604_800)
        /// The date from which an entry's age counts. Default: the last use.
        public var expiry = CacheExpiry.lastUse
        /// Directories with images of your app that are searched after a miss and never written to. ImageCache.fileName(for:) names
        /// their files, which may be images of any kind.
        public var readOnlyDirectories: [String] = []

        /// Makes the default settings.
        /// - Parameter namespace: The last component of the directory, in any characters. Managers with equal namespaces share entries.
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
