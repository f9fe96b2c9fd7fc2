public import WebImageCore

/// What the disk cache is made with.
///
/// In the directory are originals-N, files as they were loaded, which any program opens, and results-N, images at
/// the size at which they were shown. Directories of earlier layouts (N) are removed. It is marked with a
/// CACHEDIR.TAG, so that backups leave it out.
public struct DiskCacheConfiguration: Sendable {
    /// Where it is. Default: $XDG_CACHE_HOME/<app id>/web-images/default.
    public var directory: String
    /// Bytes on disk that all of it takes. Default: a tenth of what is free, at most 500 MB.
    public var sizeLimit: Int
    /// Which share of that results take at most, 0 to 1; 0: none are kept. Default: a quarter.
    public var renditionShare = 0.25
    /// How old an entry gets. Default: a week.
    public var maximumAge = Duration.seconds(604_800)
    /// By which date. Default: when it was used last.
    public var expiry = CacheExpiry.access
    /// Directories that are searched after a miss and never written to: images that come with the app. A file is
    /// found under the name that ImageCache.fileName(for:) gives its URL, and may be any image.
    public var readOnlyDirectories: [String] = []

    /// Makes a configuration of defaults.
    /// - Parameter namespace: The last part of the directory; managers with the same one share their entries.
    public init(namespace: String = "default") {
        self.init(directory: CacheDirectory.standard(namespace: namespace))
    }

    /// Makes a configuration of defaults in a directory.
    public init(directory: String) {
        self.directory = directory
        sizeLimit = min(SystemResources.freeDiskSize(at: directory) / 10, 500_000_000)
    }
}
