public import FoundationEssentials
import Synchronization

/// The memory cache and the disk cache of a manager. You can use it from any thread.
///
/// For an image with ``ImageRequest/variants``, calls that remove or query concern all its files. Calls that store, or
/// return a path, concern the file that fits the request.
///
/// Calls that concern the disk run on the I/O queue. In code that cannot await them, start a `Task`.
public struct ImageCache: Sendable {
    let manager: ImageManager

    var parts: Pipeline.Dependencies { manager.dependencies }

    // Memory

    /// The contents of the memory cache, and its numbers of hits and misses.
    public var memoryStatistics: MemoryCacheStatistics { parts.memoryCache.statistics }

    /// Removes all images from memory, within the call. Widgets and loads that have begun are as with ``removeAll(from:)``.
    public func removeAllFromMemory() {
        parts.versions.changeAll()
        parts.memoryCache.removeAll()
    }

    // Disk

    /// The path of an original on disk, which need not exist; `nil` if the manager has no disk cache, or your own cache
    /// without files.
    public func path(for request: some ImageRequestConvertible) -> String? {
        parts.dataCache?.path(for: key(for: request))
    }

    /// The name of the file at ``path(for:)`` within the directory of the cache; `nil` without a disk cache of the library. A file in
    /// a read-only directory must have this name.
    public func fileName(for request: some ImageRequestConvertible) -> String? {
        (parts.dataCache as? DiskCache)?.fileName(for: key(for: request))
    }

    /// The number of file-system calls that have failed since the start.
    package var diskFailureCount: Int {
        ((parts.dataCache as? DiskCache)?.failureCount ?? 0) + (parts.renditionCache?.failureCount ?? 0)
    }

    /// The tiers that have an image: memory at the requested size, the disk at that size or as the original.
    public func tiers(containing request: some ImageRequestConvertible) async -> CacheTiers {
        await perform { findTiers(request.imageRequest) }
    }

    /// The bytes of an image as its server sent them, from the disk cache; `nil` if it has none or they are damaged. Reading them does
    /// not make the image fresher.
    public func data(for request: some ImageRequestConvertible) async -> Data? {
        await perform { serving(request).lazy.compactMap { parts.dataCache?.entry(for: $0.sourceKey)?.data }.first }
    }

    /// The ThumbHash of an image, from the disk cache; `nil` if the image was stored without one. A manager with
    /// `keepsThumbHashes` in its configuration makes them.
    public func thumbHash(for request: some ImageRequestConvertible) async -> ThumbHash? {
        await perform { keys(for: request).lazy.compactMap { parts.dataCache?.metadata(for: $0)?.thumbHash }.first }
    }

    /// Removes all sizes of an image. Widgets that show it keep it. Loads that have begun deliver it, and no cache keeps it.
    public func remove(_ request: some ImageRequestConvertible, from tiers: CacheTiers = .all) async {
        if tiers.contains(.originals) { for key in keys(for: request) { parts.storeOrder.outdate(key) } }
        await perform { for key in keys(for: request) { remove(key, tiers) } }
    }

    /// Removes all images. Widgets that show them keep them. Loads that have begun deliver their images, which no cache keeps.
    public func removeAll(from tiers: CacheTiers = .all) async {
        if tiers.contains(.memory) { removeAllFromMemory() }
        guard !tiers.isDisjoint(with: .disk) else { return }
        if tiers.contains(.originals) { parts.storeOrder.outdateAll() }
        await perform { removeAllBlocking(tiers) }
    }

    /// Removes images from memory and disk that are too old, and the oldest images above the size limit. The library does this
    /// automatically.
    public func removeExpired() async {
        parts.memoryCache.removeExpired()
        await perform {
            parts.dataCache?.removeExpired()
            parts.renditionCache?.removeExpired()
        }
    }

    /// The number and the size of the files on disk. It looks at every file.
    public func diskUsage() async -> CacheUsage {
        await perform { (parts.dataCache?.usage ?? .none) + (parts.renditionCache?.usage ?? .none) }
    }
}

extension ImageCache {
    /// The key of the original.
    func key(for request: some ImageRequestConvertible) -> String { manager.cacheKey(for: request) }

    /// The keys of the originals: one, or one for each variant.
    private func keys(for request: some ImageRequestConvertible) -> [String] {
        manager.prepare(request.imageRequest).request.sourceKeys
    }

    /// The requests whose files can answer a request, the fitting one before larger ones.
    private func serving(_ request: some ImageRequestConvertible) -> [ImageRequest] {
        let request = manager.prepare(request.imageRequest).request
        return [request] + request.largerVariants.map { request.reading(variant: $0) }
    }

    func perform<R: Sendable>(_ work: @escaping @Sendable () -> R) async -> R {
        // Without a thread, the work would wait for one.
        guard parts.ioQueue.start() == 0 else { return work() }
        return await withCheckedContinuation { continuation in
            _ = parts.ioQueue.submit { continuation.resume(returning: work()) }
        }
    }
}

// Work on the I/O queue.
extension ImageCache {
    private func findTiers(_ request: ImageRequest) -> CacheTiers {
        var tiers: CacheTiers = []
        if manager.cachedImage(for: request) != nil { tiers.insert(.memory) }
        let request = manager.prepare(request).request
        let key = ImageKey(request)
        if parts.renditionCache?.contains(key.renditionKey(size: request.resolvedDecodeSize)) == true {
            tiers.insert(.renditions)
        }
        if serving(request).contains(where: { parts.dataCache?.contains($0.sourceKey) == true }) {
            tiers.insert(.originals)
        }
        return tiers
    }

    private func remove(_ key: String, _ tiers: CacheTiers) {
        // Work that has read a tier before it was removed is outdated, and stores nothing in the tiers after it.
        parts.versions.change(key)
        if tiers.contains(.originals), let dataCache = parts.dataCache {
            parts.storeOrder.perform(key) { dataCache.remove(key) }
            parts.versions.change(key)
        }
        if tiers.contains(.renditions) { parts.renditionCache?.removeVariants(of: key) }
        parts.versions.change(key)
        if tiers.contains(.memory) { parts.memoryCache.removeImages(source: key) }
    }

    private func removeAllBlocking(_ tiers: CacheTiers) {
        parts.versions.changeAll()
        if tiers.contains(.originals), let dataCache = parts.dataCache {
            parts.storeOrder.performForAll(dataCache.removeAll) { dataCache.remove($0) }
            parts.versions.changeAll()
        }
        if tiers.contains(.renditions) { parts.renditionCache?.removeAll() }
        parts.versions.changeAll()
        if tiers.contains(.memory) { parts.memoryCache.removeAll() }
    }
}
