import FoundationEssentials
import Synchronization

// Last stage: the disk cache takes a copy of what came from a loader.
extension ImageManager {
    func storing(_ loaded: LoadedData, _ source: JobGraph.Source, _ loader: any ImageLoading) -> StoreOnce? {
        guard let disk = parts.diskCache, loader.isWorthCaching(source.request.url),
            !source.request.options.contains(.memoryCacheOnly)
        else { return nil }
        let key = source.key.url
        guard !CacheDirectives(loaded.metadata.cacheControl).isNoStore else {
            if source.stored != nil { parts.ioLane.submit(priority: .veryLow) { disk.remove(key: key) } }
            return nil
        }
        let lane = parts.ioLane
        let now = parts.clock.now.timeIntervalSince1970
        return StoreOnce {
            let metadata = DiskEntry.Metadata(key: key, response: loaded.metadata, storedAt: now)
            disk.stage(DiskEntry(data: loaded.data, metadata: metadata))
            lane.submit(priority: .veryLow) { disk.flush() }
        }
    }

    /// Brings an entry up to date with a 304 (RFC 9111, 4.3.4).
    func renew(_ entry: DiskEntry, _ newer: ResponseMetadata) -> DiskEntry {
        var entry = entry
        entry.metadata.response = entry.metadata.response.renewed(by: newer)
        guard let disk = parts.diskCache else { return entry }
        if CacheDirectives(newer.cacheControl).isNoStore {
            let key = entry.metadata.key
            parts.ioLane.submit(priority: .veryLow) { disk.remove(key: key) }
        } else {
            disk.stage(entry)
            parts.ioLane.submit(priority: .veryLow) { disk.flush() }
        }
        return entry
    }

    /// An entry that is sound but no picture is of no use to anybody.
    func removeUndecodable(_ source: LoadedSource, _ request: ImageRequest) {
        guard source.origin != .loader, let disk = parts.diskCache else { return }
        let key = request.url.absoluteString
        parts.ioLane.submit(priority: .veryLow) { disk.remove(key: key) }
    }
}

/// Work that the first of several callers does.
final class StoreOnce: Sendable {
    private let work: Mutex<(@Sendable () -> Void)?>

    init(_ work: @escaping @Sendable () -> Void) {
        self.work = Mutex(work)
    }

    func perform() {
        work.withLock { $0.take() }?()
    }
}
