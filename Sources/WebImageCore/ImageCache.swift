public import FoundationEssentials
import Synchronization

/// The memory cache and the disk cache of a manager. Can be used from any thread.
///
/// Calls that concern the disk run on the I/O queue. Code that cannot await them starts a `Task`.
public struct ImageCache: Sendable {
    let manager: ImageManager

    private var parts: Pipeline.Dependencies { manager.dependencies }

    // Memory

    /// The contents of the memory cache, and how often it was hit.
    public var memoryStatistics: MemoryCacheStatistics { parts.memoryCache.statistics }

    /// Stores an image in memory, as if the request had loaded it. Widgets that are smaller show it, too.
    public func storeInMemory(_ image: WebImage, for request: some ImageRequestConvertible) {
        parts.memoryCache.store(image, for: ImageKey(manager.pipeline.prepare(request.imageRequest)), from: .app)
    }

    /// Removes all sizes of an image from memory. Widgets that show it keep it.
    public func removeFromMemory(_ request: some ImageRequestConvertible) {
        parts.memoryCache.removeImages(source: key(for: request))
    }

    /// Removes all images from memory. Widgets that show them keep them.
    public func removeAllFromMemory() {
        parts.memoryCache.removeAll()
    }

    // Disk

    /// The path of an original on disk, whether it exists or not; `nil` when the manager has no disk cache, or one of
    /// the app's own without files.
    public func path(for request: some ImageRequestConvertible) -> String? {
        parts.dataCache?.path(for: key(for: request))
    }

    /// The name of that file within the directory of the cache. A file in a read-only directory has to have this name.
    public func fileName(for request: some ImageRequestConvertible) -> String? {
        parts.dataCache?.fileName(for: key(for: request))
    }

    /// The number of file-system calls that have failed since the start.
    public var diskFailureCount: Int {
        (parts.dataCache?.failureCount ?? 0) + (parts.renditionCache?.failureCount ?? 0)
    }

    /// The caches that hold an image: memory at the requested size, disk at that size or as the original.
    public func tiers(containing request: some ImageRequestConvertible) async -> CacheTiers {
        await perform { findTiers(request.imageRequest) }
    }

    /// The original of an image, from the disk.
    public func data(for request: some ImageRequestConvertible) async -> Data? {
        await perform { parts.dataCache?.entry(for: key(for: request))?.data }
    }

    /// The ThumbHash of an image, from the disk, when the manager keeps them.
    public func thumbHash(for request: some ImageRequestConvertible) async -> ThumbHash? {
        await perform { parts.dataCache?.metadata(for: key(for: request))?.thumbHash }
    }

    /// Stores the bytes of an image on disk, as if they had been loaded. They are found from now on and written a
    /// little later. Images of the URL in memory are of other bytes, and are removed.
    public func storeOnDisk(
        _ data: Data,
        for request: some ImageRequestConvertible,
        response: ResponseMetadata = ResponseMetadata()
    ) {
        let now = parts.clock.now
        let key = key(for: request)
        parts.failures.forget(key)
        parts.memoryCache.removeImages(source: key)
        parts.dataCache?.store(CacheEntry(key: key, data: data, response: response, storedAt: now))
        parts.ioQueue.submit(priority: .veryLow) { [parts] in
            parts.renditionCache?.removeVariants(of: key)
            parts.dataCache?.flush()
        }
    }

    /// Removes all sizes of an image.
    public func remove(_ request: some ImageRequestConvertible, from tiers: CacheTiers = .all) async {
        await perform { remove(key(for: request), tiers) }
    }

    /// Removes all images from the disk.
    public func removeAllFromDisk() async {
        await perform { removeAllFromDiskBlocking() }
    }

    /// Removes images from the disk that are too old, and the oldest ones when there are too many. The library does so
    /// by itself.
    public func removeExpired() async {
        await perform { removeExpiredBlocking() }
    }

    /// The number and the size of the files on disk. Looks at every file.
    public func diskUsage() async -> CacheUsage {
        await perform { measuredUsage }
    }
}

extension ImageCache {
    /// The key of the original.
    private func key(for request: some ImageRequestConvertible) -> String {
        manager.pipeline.prepare(request.imageRequest).sourceKey
    }

    private func perform<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            _ = parts.ioQueue.submit { continuation.resume(returning: work()) }
        }
    }
}

// Work on the I/O queue.
extension ImageCache {
    private func findTiers(_ request: ImageRequest) -> CacheTiers {
        var tiers: CacheTiers = []
        if manager.cachedImage(for: request) != nil { tiers.insert(.memory) }
        let request = manager.pipeline.prepare(request)
        let key = ImageKey(request)
        if parts.renditionCache?.contains(key.renditionKey(size: request.resolvedDecodeSize)) == true {
            tiers.insert(.renditions)
        }
        if parts.dataCache?.contains(key.source) == true { tiers.insert(.originals) }
        return tiers
    }

    private func remove(_ key: String, _ tiers: CacheTiers) {
        if tiers.contains(.memory) { parts.memoryCache.removeImages(source: key) }
        if tiers.contains(.originals) { parts.dataCache?.remove(key) }
        if tiers.contains(.renditions) { parts.renditionCache?.removeVariants(of: key) }
    }

    private func removeAllFromDiskBlocking() {
        parts.dataCache?.removeAll()
        parts.renditionCache?.removeAll()
    }

    private func removeExpiredBlocking() {
        parts.dataCache?.removeExpired()
        parts.renditionCache?.removeExpired()
    }

    private var measuredUsage: CacheUsage {
        (parts.dataCache?.usage ?? CacheUsage()) + (parts.renditionCache?.usage ?? CacheUsage())
    }
}
