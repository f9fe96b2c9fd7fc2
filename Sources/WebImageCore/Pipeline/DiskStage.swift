import FoundationEssentials
import Synchronization

// Second stage: the disk cache, on the I/O queue; what it has is shown, or the server is asked about it first.
extension ImageManager {
    /// Starts a source. What is not cached on disk goes to its loader at once.
    func begin(_ id: JobGraph.Identifier, _ priority: ImagePriority) {
        guard let request = graph.withLock({ $0.sources[id]?.request }) else { return }
        guard let loader = loader(for: request) else {
            let scheme = request.url.scheme.map { "Nothing loads the scheme \($0)" } ?? "The URL has no scheme"
            fail(id, .invalidURL(request.url, scheme))
            return
        }
        let asksDisk = parts.dataCache != nil && loader.shouldCacheOnDisk(request.url)
        guard asksDisk, request.effectiveCaching.queriesOriginals else {
            load(id, with: loader)
            return
        }
        let ticket = parts.ioQueue.submit(priority: priority) { self.readDisk(id, loader) }
        graph.withLock { $0.setTicket(ticket, ofSource: id) }
    }

    private func readDisk(_ id: JobGraph.Identifier, _ loader: any DataLoading) {
        guard let request = graph.withLock({ $0.sources[id]?.request }) else { return }
        let start = ContinuousClock.now
        guard let entry = parts.dataCache?.entry(for: request.sourceKey) else {
            parts.observers.notify(request.url, .diskMiss)
            load(id, with: loader)
            return
        }
        parts.observers.notify(request.url, .diskHit)
        var source = FetchedData(stored: entry, origin: .disk)
        source.readingDuration = .now - start
        if let hash = entry.thumbHash { showBlurred(hash, id) }
        switch reuse(entry.response, request) {
        case .use:
            decode(id, source)
        case .useAndRefresh:
            // After these bytes have been decoded: what the server sends must not be overtaken by them in memory.
            source.afterwards = OnDeinit { [weak self] in self?.refreshInBackground(request) }
            decode(id, source)
        case .validate:
            graph.withLock { $0.setStored(entry, ofSource: id) }
            if request.options.contains(.refreshCached) { preview(id, entry) }
            load(id, with: loader)
        case .ignore:
            load(id, with: loader)
        }
    }

    /// Shows the blurred version of an image to those who want to see it come.
    private func showBlurred(_ hash: ThumbHash, _ id: JobGraph.Identifier) {
        let tasks = graph.withLock { graph in
            (graph.sources[id]?.jobs ?? []).flatMap { graph.jobs[$0]?.tasks ?? [] }
        }.filter(\.wantsPartialImages)
        guard !tasks.isEmpty, let image = hash.image?.with({ $0.isPartial = true }) else { return }
        for task in tasks { task.report(preview: image) }
    }

    /// What is done with a response that a cache has.
    func reuse(_ response: ResponseMetadata, _ request: ImageRequest) -> StoredResponseUse {
        var headers: [String: String] = [:]
        if response.vary != nil {
            let asked = LoaderRequest(url: request.url, options: request.networkOptions)
            headers = loader(for: request)?.headers(for: asked) ?? [:]
        }
        return StoredResponseUse(response, options: request.options, headers: headers, now: parts.clock.now)
    }

    /// For the next time: one conditional request, whose result goes to the caches only.
    func refreshInBackground(_ request: ImageRequest) {
        var request = request
        // The rest says which image it is, and where it is kept.
        request.options.remove(.progressive)
        request.options.insert(.refreshCached)
        request.priority = .low
        let task = ImageTask(
            request: request,
            manager: self,
            dispatcher: InlineDispatcher(),
            handlers: nil
        )
        task.start()
    }

    /// Ends a source and all that wait for it with an error.
    func fail(_ id: JobGraph.Identifier, _ error: ImageError) {
        WebImageLog.debug("\(error)")
        for task in graph.withLock({ $0.failSource(id) }) { task.finish(.failure(error)) }
    }
}
