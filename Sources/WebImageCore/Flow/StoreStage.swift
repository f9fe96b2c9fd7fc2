import FoundationEssentials
import Synchronization

// Last stage: the disk cache takes a copy of what came from a loader.
extension ImageManager {
    func storing(_ loaded: LoadedData, _ id: JobGraph.Identifier, _ loader: any ImageLoading) -> StoreOnce? {
        guard let disk = parts.diskCache, let request = graph.withLock({ $0.sources[id]?.request }),
            loader.isWorthCaching(request.url), !request.options.contains(.memoryCacheOnly), !loaded.forbidsStoring
        else { return nil }
        let key = request.url.absoluteString
        let lane = parts.ioLane
        return StoreOnce {
            let metadata = DiskEntry.Metadata(
                key: key,
                contentType: loaded.contentType,
                etag: loaded.etag,
                lastModified: loaded.lastModified,
                cacheControl: loaded.cacheControl,
                storedAt: Date().timeIntervalSince1970
            )
            disk.stage(DiskEntry(data: loaded.data, metadata: metadata))
            lane.submit(priority: .veryLow) { disk.flush() }
        }
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

extension LoadedData {
    /// RFC 9111, 5.2.2.5.
    var forbidsStoring: Bool {
        guard let cacheControl else { return false }
        return cacheControl.split(separator: ",").contains {
            $0.trimmingPrefix { $0 == " " }.prefix { $0 != " " && $0 != "=" }.lowercased() == "no-store"
        }
    }
}
