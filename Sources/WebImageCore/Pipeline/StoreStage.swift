import FoundationEssentials
import Synchronization

// Last stage: the disk cache takes a copy of what came from a loader.
extension ImageManager {
    func storing(
        _ loaded: LoaderResult,
        _ source: JobGraph.Source,
        _ loader: any DataLoading
    ) -> (work: OnceClosure, date: Date)? {
        guard let disk = parts.dataCache, loader.shouldCacheOnDisk(source.request.url), source.key.stores else {
            return nil
        }
        let key = source.key.url
        guard !CacheDirectives(loaded.metadata.cacheControl).isNoStore else {
            removeFromDisk(key)
            return nil
        }
        let (queue, results) = (parts.ioQueue, parts.renditionCache)
        let now = parts.clock.now
        let observers = parts.observers
        let (serializer, url, keepsHashes) = (parts.serializer, source.request.url, parts.keepsThumbHashes)
        let work = OnceClosure { image in
            var data = loaded.data
            if let serializer {
                guard let image, let changed = serializer.serialize(image, data, url) else { return }
                data = changed
            }
            // Those of an earlier version would come to light again once this one is trimmed.
            results?.outdateVariants(of: key)
            var entry = CacheEntry(key: key, data: data, response: loaded.metadata, storedAt: now)
            if keepsHashes { entry.thumbHash = image.flatMap { ThumbHash(of: $0) } }
            disk.store(entry)
            observers.tell(url, .stored)
            queue.submit(priority: .veryLow) {
                results?.flush()
                disk.flush()
            }
        }
        return (work, now)
    }

    /// Brings an entry up to date with a 304 (RFC 9111, 4.3.4).
    func renew(_ entry: CacheEntry, _ newer: ResponseMetadata) -> CacheEntry {
        var entry = entry
        entry.response = entry.response.renewed(by: newer)
        guard let disk = parts.dataCache else { return entry }
        if CacheDirectives(newer.cacheControl).isNoStore {
            removeFromDisk(entry.key)
        } else {
            disk.store(entry)
            parts.ioQueue.submit(priority: .veryLow) { disk.flush() }
        }
        return entry
    }

    /// The same for results whose original is no longer there.
    func renewRenditions(_ id: JobGraph.Identifier, _ newer: ResponseMetadata) {
        guard let cache = parts.renditionCache else { return }
        let (entries, url) = graph.withLock { ($0.results(ofSource: id), $0.sources[id]?.key.url) }
        if let url, CacheDirectives(newer.cacheControl).isNoStore { return removeFromDisk(url) }
        for var entry in entries {
            entry.response = entry.response.renewed(by: newer)
            cache.store(entry)
        }
        parts.ioQueue.submit(priority: .veryLow) { cache.flush() }
    }

    /// Removes the original and all results of a URL, in the background.
    private func removeFromDisk(_ url: String) {
        parts.ioQueue.submit(priority: .veryLow) { [parts] in
            parts.dataCache?.remove(url)
            parts.renditionCache?.removeVariants(of: url)
        }
    }

    /// Keeps the blurred version of an image whose original has none yet.
    func addThumbHash(_ image: WebImage, _ entry: CacheEntry) {
        guard parts.keepsThumbHashes, entry.thumbHash == nil, let disk = parts.dataCache else { return }
        parts.ioQueue.submit(priority: .veryLow) {
            // Unless it was replaced or removed meanwhile.
            guard disk.metadata(for: entry.key)?.storedAt == entry.storedAt else { return }
            var entry = entry
            entry.thumbHash = ThumbHash(of: image)
            disk.store(entry)
            disk.flush()
        }
    }

    /// Returns when what a load stores is on disk.
    func finishStoring(_ job: JobGraph.Job) {
        parts.dataCache?.waitUntilWritten(job.key.source.url)
        parts.renditionCache?.waitUntilWritten(job.key.result)
    }

    /// An entry that is sound but no image is of no use to anybody.
    func removeUndecodable(_ source: FetchedData, _ request: ImageRequest) {
        if source.origin != .loader { removeFromDisk(request.sourceKey) }
    }
}

/// Work that the first of several callers does.
final class OnceClosure: Sendable {
    private let work: Mutex<(@Sendable (WebImage?) -> Void)?>

    init(_ work: @escaping @Sendable (WebImage?) -> Void) {
        self.work = Mutex(work)
    }

    /// - Parameter image: What the bytes decode to, where that is known.
    func perform(_ image: WebImage?) {
        work.withLock { $0.take() }?(image)
    }
}
