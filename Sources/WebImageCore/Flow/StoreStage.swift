import FoundationEssentials
import Synchronization

// Last stage: the disk cache takes a copy of what came from a loader.
extension ImageManager {
    func storing(
        _ loaded: LoadedData,
        _ source: JobGraph.Source,
        _ loader: any ImageLoading
    ) -> (work: StoreOnce, date: Date)? {
        guard let disk = parts.dataCache, loader.isWorthCaching(source.request.url), source.key.stores else {
            return nil
        }
        let key = source.key.url
        guard !CacheDirectives(loaded.metadata.cacheControl).isNoStore else {
            if source.stored != nil { parts.ioLane.submit(priority: .veryLow) { disk.remove(key) } }
            return nil
        }
        let lane = parts.ioLane
        let now = parts.clock.now
        let (serializer, url) = (parts.serializer, source.request.url)
        let work = StoreOnce { image in
            var data = loaded.data
            if let serializer {
                guard let image, let changed = serializer.serialize(image, data, url) else { return }
                data = changed
            }
            disk.store(CacheEntry(key: key, data: data, response: loaded.metadata, storedAt: now))
            lane.submit(priority: .veryLow) { disk.flush() }
        }
        return (work, now)
    }

    /// Brings an entry up to date with a 304 (RFC 9111, 4.3.4).
    func renew(_ entry: CacheEntry, _ newer: ResponseMetadata) -> CacheEntry {
        var entry = entry
        entry.response = entry.response.renewed(by: newer)
        guard let disk = parts.dataCache else { return entry }
        if CacheDirectives(newer.cacheControl).isNoStore {
            let key = entry.key
            parts.ioLane.submit(priority: .veryLow) { disk.remove(key) }
        } else {
            disk.store(entry)
            parts.ioLane.submit(priority: .veryLow) { disk.flush() }
        }
        return entry
    }

    /// The same for results whose original is no longer there.
    func renewResults(_ id: JobGraph.Identifier, _ newer: ResponseMetadata) {
        guard let cache = parts.resultCache else { return }
        for var entry in graph.withLock({ $0.results(ofSource: id) }) {
            entry.response = entry.response.renewed(by: newer)
            if CacheDirectives(newer.cacheControl).isNoStore { cache.remove(entry.key) } else { cache.store(entry) }
        }
        parts.ioLane.submit(priority: .veryLow) { cache.flush() }
    }

    /// An entry that is sound but no picture is of no use to anybody.
    func removeUndecodable(_ source: LoadedSource, _ request: ImageRequest) {
        guard source.origin != .loader, let disk = parts.dataCache else { return }
        let key = request.url.absoluteString
        parts.ioLane.submit(priority: .veryLow) { disk.remove(key) }
    }
}

/// Work that the first of several callers does.
final class StoreOnce: Sendable {
    private let work: Mutex<(@Sendable (WebImage?) -> Void)?>

    init(_ work: @escaping @Sendable (WebImage?) -> Void) {
        self.work = Mutex(work)
    }

    /// - Parameter image: What the bytes decode to, where that is known.
    func perform(_ image: WebImage?) {
        work.withLock { $0.take() }?(image)
    }
}
