import FoundationEssentials
import Synchronization

// Second stage: the disk cache, on the I/O lane.
extension ImageManager {
    /// Looks for the bytes of a new source. What is never cached on disk goes to its loader at once.
    func begin(_ id: JobGraph.Identifier, _ priority: ImagePriority) {
        guard let request = graph.withLock({ $0.sources[id]?.request }) else { return }
        guard let loader = parts.loaders.first(where: { $0.canLoad(request.url) }) else {
            let scheme = request.url.scheme.map { "Nothing loads the scheme \($0)" } ?? "The URL has no scheme"
            fail(id, .invalidURL(request.url, scheme))
            return
        }
        let asksDisk = parts.diskCache != nil && loader.isWorthCaching(request.url)
        guard asksDisk, !request.options.contains(.fromLoaderOnly) else {
            load(id, with: loader)
            return
        }
        let ticket = parts.ioLane.submit(priority: priority) { self.readDisk(id, loader) }
        graph.withLock { $0.setTicket(ticket, ofSource: id) }
    }

    private func readDisk(_ id: JobGraph.Identifier, _ loader: any ImageLoading) {
        guard let request = graph.withLock({ $0.sources[id]?.request }) else { return }
        guard let entry = parts.diskCache?.entry(for: request.url.absoluteString) else {
            load(id, with: loader)
            return
        }
        let loaded = LoadedData(
            data: entry.data,
            contentType: entry.metadata.contentType,
            etag: entry.metadata.etag,
            lastModified: entry.metadata.lastModified,
            cacheControl: entry.metadata.cacheControl
        )
        decode(id, LoadedSource(loaded: loaded, origin: .disk, store: nil))
    }

    /// Ends a source and all that wait for it with an error.
    func fail(_ id: JobGraph.Identifier, _ error: ImageError) {
        WebImageLog.debug("\(error)")
        for task in graph.withLock({ $0.failSource(id) }) { task.finish(.failure(error)) }
    }
}
