public import FoundationEssentials
import Synchronization

/// The caches of a manager: what is in them, and the means to change that. From any thread; what concerns the disk
/// happens on the I/O queue, and completions are called on the main loop.
public struct ImageCache: Sendable {
    let manager: ImageManager

    private var parts: ImageManager.Parts { manager.parts }

    // Memory

    /// What the memory cache holds, and how often it was of use.
    public var memoryStatistics: MemoryCacheStatistics { parts.memoryCache.statistics }

    /// Puts an image into memory, as if request had loaded it.
    public func storeInMemory(_ image: WebImage, for request: ImageRequest) {
        parts.memoryCache.store(image, for: ImageKey(manager.prepared(request)))
    }

    /// Removes all sizes of an image from memory. Widgets that show it go on to do so.
    public func removeFromMemory(_ url: URL) {
        parts.memoryCache.removeImages(source: manager.key(for: url))
    }

    /// Empties the memory cache. Images that are shown stay as they are.
    public func removeAllFromMemory() {
        parts.memoryCache.removeAll()
    }

    // Disk

    /// Where the original of url is or would be in the disk cache; nil when there is none, or one of the app's own.
    public func path(for url: URL) -> String? {
        parts.dataCache?.path(for: manager.key(for: url))
    }

    /// The name of that file, from the directory of the cache: what a file in a read-only directory has to be called.
    public func fileName(for url: URL) -> String? {
        parts.dataCache?.fileName(for: manager.key(for: url))
    }

    /// Calls to the file system that failed so far.
    public var diskFailureCount: Int {
        (parts.dataCache?.failureCount ?? 0) + (parts.renditionCache?.failureCount ?? 0)
    }

    /// In which places an image is: memory at the size that is asked for, disk at that size or as the original.
    public func location(of request: ImageRequest) async -> CacheTiers {
        await perform { location(request) }
    }

    /// In which places an image is.
    public func location(of request: ImageRequest, completion: @escaping @Sendable (CacheTiers) -> Void) {
        perform({ location(request) }, completion)
    }

    /// The original of url, from the disk.
    public func data(for url: URL) async -> Data? {
        await perform { parts.dataCache?.entry(for: manager.key(for: url))?.data }
    }

    /// The original of url, from the disk.
    public func data(for url: URL, completion: @escaping @Sendable (Data?) -> Void) {
        perform({ parts.dataCache?.entry(for: manager.key(for: url))?.data }, completion)
    }

    /// The blurred version of url, from the disk, when the manager keeps those.
    public func thumbHash(for url: URL) async -> ThumbHash? {
        await perform { parts.dataCache?.metadata(for: manager.key(for: url))?.thumbHash }
    }

    /// The same within this call, for threads that may wait for a disk: never for the main thread.
    public func cachedDataBlocking(for url: URL) -> Data? {
        parts.dataCache?.entry(for: manager.key(for: url))?.data
    }

    /// Keeps the bytes of an image on disk, as if they had come from url. Found from now on, written a little later;
    /// what memory has of url is of another image then, and is removed.
    public func storeOnDisk(_ data: Data, for url: URL, response: ResponseMetadata = ResponseMetadata()) {
        let now = manager.parts.clock.now
        let key = manager.key(for: url)
        parts.failures.forget(key)
        parts.memoryCache.removeImages(source: key)
        parts.dataCache?.store(CacheEntry(key: key, data: data, response: response, storedAt: now))
        parts.ioQueue.submit(priority: .veryLow) { [parts] in
            parts.renditionCache?.removeVariants(of: key)
            parts.dataCache?.flush()
        }
    }

    /// Removes an image, in all sizes.
    public func remove(_ url: URL, from tiers: CacheTiers = .all) async {
        await perform { remove(manager.key(for: url), tiers) }
    }

    /// Removes an image, in all sizes.
    public func remove(_ url: URL, from tiers: CacheTiers = .all, completion: @escaping @Sendable () -> Void) {
        perform({ remove(manager.key(for: url), tiers) }, completion)
    }

    /// Empties the disk cache.
    public func removeAllFromDisk() async {
        await perform { removeAllFromDisk() }
    }

    /// Empties the disk cache.
    public func removeAllFromDisk(completion: @escaping @Sendable () -> Void) {
        perform({ removeAllFromDisk() }, completion)
    }

    /// Removes what is too old, and the oldest images when there are too many. The library does that by itself.
    public func removeExpired() async {
        await perform { removeExpiredFromDisk() }
    }

    /// Removes what is too old, and the oldest images when there are too many.
    public func removeExpired(completion: @escaping @Sendable () -> Void) {
        perform({ removeExpiredFromDisk() }, completion)
    }

    /// How much is on disk. Looks at every file.
    public func diskUsage() async -> CacheUsage {
        await perform { totals }
    }

    /// How much is on disk. Looks at every file.
    public func diskUsage(completion: @escaping @Sendable (CacheUsage) -> Void) {
        perform({ totals }, completion)
    }
}

// On the I/O queue.
extension ImageCache {
    private func location(_ request: ImageRequest) -> CacheTiers {
        var tiers: CacheTiers = []
        if manager.cachedImage(for: request) != nil { tiers.insert(.memory) }
        let key = ImageKey(request)
        let isOnDisk =
            parts.renditionCache?.contains(key.renditionKey(size: request.decodeSize)) == true
            || parts.dataCache?.contains(key.source) == true
        if isOnDisk { tiers.insert(.disk) }
        return tiers
    }

    private func remove(_ url: String, _ tiers: CacheTiers) {
        if tiers.contains(.memory) { parts.memoryCache.removeImages(source: url) }
        guard tiers.contains(.disk) else { return }
        parts.dataCache?.remove(url)
        parts.renditionCache?.removeVariants(of: url)
    }

    private func removeAllFromDisk() {
        parts.dataCache?.removeAll()
        parts.renditionCache?.removeAll()
    }

    private func removeExpiredFromDisk() {
        parts.dataCache?.removeExpired()
        parts.renditionCache?.removeExpired()
    }

    private var totals: CacheUsage {
        (parts.dataCache?.totals ?? CacheUsage()) + (parts.renditionCache?.totals ?? CacheUsage())
    }

    private func perform<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            _ = parts.ioQueue.submit { continuation.resume(returning: work()) }
        }
    }

    private func perform<R: Sendable>(
        _ work: @escaping @Sendable () -> R,
        _ completion: @escaping @Sendable (R) -> Void
    ) {
        let dispatcher = parts.dispatcher
        parts.ioQueue.submit {
            let result = work()
            dispatcher.dispatch { completion(result) }
        }
    }
}
