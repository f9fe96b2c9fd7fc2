import FoundationEssentials
import Synchronization

// Third stage: the loader, on its own threads.
extension ImageManager {
    func load(_ id: JobGraph.Identifier, with loader: any DataLoading) {
        guard let request = graph.withLock({ $0.sources[id]?.request }) else { return }
        let url = request.url
        guard !request.options.contains(.fromCacheOnly) else {
            let error = ImageError(
                .notInCache,
                url: url,
                reason: "The image is in none of the caches",
                remedy: "Load it without fromCacheOnly."
            )
            fail(id, error)
            return
        }
        guard parts.shouldLoad?(url) ?? true else {
            let error = ImageError(
                .invalidRequest,
                url: url,
                reason: "The app does not want this URL to be loaded",
                remedy: "See ImageManager.Configuration.shouldLoad."
            )
            fail(id, error)
            return
        }
        if !request.options.contains(.retryFailed),
            let error = parts.failures.error(for: request.sourceKey, now: parts.clock.now)
        {
            fail(id, error)
        } else if loader.requiresNetwork(url), !parts.network.status.isAvailable {
            loadFailed(id, .offline(url))
        } else {
            start(id, loader)
        }
    }

    private func start(_ id: JobGraph.Identifier, _ loader: any DataLoading) {
        guard let source = graph.withLock({ $0.beginAttempt(ofSource: id) }) else { return }
        parts.observers.notify(source.request.url, .started)
        let validators = source.stored?.response.validators ?? graph.withLock { $0.useRenditions(ofSource: id) }
        if source.stored == nil, validators != nil, source.request.options.contains(.refreshCached) { preview(id, nil) }
        let request = LoaderRequest(
            url: source.request.url,
            priority: source.priority,
            wantsData: source.wantsData,
            options: source.request.networkOptions,
            validators: validators
        )
        let operation = loader.load(request) { event in self.receive(event, id, loader) }
        let changes = graph.withLock {
            $0.setOperation(operation, ofSource: id, attempt: source.attempts, asked: request)
        }
        perform(changes)
    }

    private func receive(_ event: LoaderEvent, _ id: JobGraph.Identifier, _ loader: any DataLoading) {
        switch event {
        case .progress(let received, let expected):
            if parts.observers.isActive, let url = graph.withLock({ $0.takeFirstBytes(ofSource: id) }) {
                parts.observers.notify(url, .firstBytes(expected: expected))
            }
            for task in graph.withLock({ $0.tasks(ofSource: id) }) {
                task.report(received: received, expected: expected)
            }
        case .data(let chunk):
            for (job, priority) in graph.withLock({ $0.append(chunk, toSource: id) }) {
                parts.decodeQueue.submit(priority: priority) { self.decodePartial(job) }
            }
        case .finished(.success(let loaded)):
            loadFinished(id, loaded, loader)
        case .finished(.failure(let error)):
            loadFailed(id, error)
        }
    }

    private func loadFinished(_ id: JobGraph.Identifier, _ loaded: LoaderResult, _ loader: any DataLoading) {
        guard let source = graph.withLock({ $0.sources[id] }) else { return }
        parts.observers.notify(source.request.url, .loaded(loaded.metrics))
        parts.failures.forget(source.key.url)
        if loaded.isNotModified, let stored = source.stored {
            var answer = FetchedData(stored: renew(stored, loaded.metadata), origin: .revalidated)
            answer.loaded.metrics = loaded.metrics
            decode(id, answer)
            return
        }
        if loaded.isNotModified, source.hasRenditionsOnly {
            renewRenditions(id, loaded.metadata)
            decode(id, FetchedData(loaded: loaded, origin: .revalidated, store: nil))
            return
        }
        // Other sizes of what was there before are of another image now.
        if source.stored != nil || source.hasRenditionsOnly || !source.key.queries {
            parts.memoryCache.removeImages(source: source.key.url)
        }
        let store = storing(loaded, source, loader)
        var answer = FetchedData(loaded: loaded, origin: .loader, store: store?.work)
        answer.storedAt = store?.date
        decode(id, answer)
    }
}

extension ImageError {
    fileprivate static func offline(_ url: URL) -> ImageError {
        ImageError(
            .offline,
            url: url,
            reason: "This machine is offline",
            remedy: "Connect it to a network; RetryPolicy.offlineWait makes loads wait for that."
        )
    }
}
