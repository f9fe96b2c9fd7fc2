import FoundationEssentials
import Synchronization

// Third stage: the loader, on its own threads.
extension ImageManager {
    func load(_ id: JobGraph.Identifier, with loader: any ImageLoading) {
        guard let source = graph.withLock({ $0.sources[id] }) else { return }
        guard !source.request.options.contains(.fromCacheOnly) else {
            let error = ImageError(
                .notInCache,
                url: source.request.url,
                reason: "The picture is in none of the caches",
                remedy: "Load it without fromCacheOnly."
            )
            fail(id, error)
            return
        }
        let request = LoadRequest(url: source.request.url, priority: source.priority, wantsData: source.wantsData)
        let operation = loader.load(request) { event in self.receive(event, id, loader) }
        perform(graph.withLock { $0.setOperation(operation, ofSource: id, asked: request) })
    }

    private func receive(_ event: LoadEvent, _ id: JobGraph.Identifier, _ loader: any ImageLoading) {
        switch event {
        case .progress(let received, let expected):
            for task in graph.withLock({ $0.tasks(ofSource: id) }) {
                task.report(received: received, expected: expected)
            }
        case .data(let chunk):
            for (job, priority) in graph.withLock({ $0.append(chunk, toSource: id) }) {
                parts.decodeLane.submit(priority: priority) { self.decodePartial(job) }
            }
        case .finished(.success(let loaded)):
            decode(id, LoadedSource(loaded: loaded, origin: .loader, store: storing(loaded, id, loader)))
        case .finished(.failure(let error)):
            fail(id, error)
        }
    }
}
