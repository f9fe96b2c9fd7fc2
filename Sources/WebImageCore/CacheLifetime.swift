/// How long the caches may serve the image of a request: ``ImageRequest/cacheLifetime``.
///
/// If several loads want one image at the same time, the lifetimes of the first load apply.
public struct CacheLifetime: Hashable, Sendable {
    /// How long the memory cache may use the image after storing it. Default: `nil`, which is
    /// `ImageManager.Configuration.memoryCacheLifetime`.
    public var memory: Duration?
    /// How long the image counts as fresh after it was received, confirmed or stored. It overrides the header fields of
    /// the server.
    ///
    /// A fresh image is used without a request. The disk keeps its original and renditions for that time, even beyond the maximum
    /// age of the cache, unless there is no room. Then it is stale: a load asks the server, and shows the stale image if the server
    /// is unreachable. Default: `nil`, which is the lifetime that the image was stored with, else what the server says.
    public var disk: Duration?

    /// Creates lifetimes.
    public init(memory: Duration? = nil, disk: Duration? = nil) {
        self.memory = memory
        self.disk = disk
    }
}
