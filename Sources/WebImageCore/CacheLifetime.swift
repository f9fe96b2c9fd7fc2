/// How long the caches may serve the image of a request: ``ImageRequest/cacheLifetime``.
///
/// Of several loads of one image at the same time, those of the first one count.
public struct CacheLifetime: Hashable, Sendable {
    /// How long the memory cache serves the image after it has got it. Default: `nil`, which is
    /// `ImageManager.Configuration.memoryCacheLifetime`.
    public var memory: Duration?
    /// How long the image is fresh after its server has sent or confirmed it, or the app has stored it, whatever the server says of
    /// that.
    ///
    /// Meanwhile it is used without a request. The disk keeps its original and renditions for that long, beyond the maximum age of
    /// the cache too, unless there is no room. Afterwards the image is stale: a load asks the server for it, and shows it while
    /// the server cannot be reached. Default: `nil`, which is what the image was stored with, else what the server says.
    public var disk: Duration?

    /// Makes lifetimes.
    public init(memory: Duration? = nil, disk: Duration? = nil) {
        self.memory = memory
        self.disk = disk
    }
}
