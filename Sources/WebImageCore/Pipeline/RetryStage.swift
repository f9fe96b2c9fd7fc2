import FoundationEssentials
import Synchronization

// After a failed third stage: an older image serves, or the loader is asked again later, or that was it.
extension ImageManager {
    func loadFailed(_ id: JobGraph.Identifier, _ error: ImageError) {
        guard let source = graph.withLock({ $0.sources[id] }) else { return }
        var error = error
        error.attempts = max(source.attempts, 1)
        if let stored = source.stored, isUsable(stored, despite: error) {
            WebImageLog.debug("A cached image is shown: \(error)")
            var answer = FetchedData(stored: stored, origin: .disk)
            answer.refreshError = error
            decode(id, answer)
        } else if source.hasRenditionsOnly, results(of: id, areUsableDespite: error) {
            var answer = FetchedData(loaded: LoaderResult(data: Data()), origin: .disk, store: nil)
            answer.refreshError = error
            decode(id, answer)
        } else if let delay = pause(after: error, source) {
            parts.observers.notify(source.request.url, .retrying(error, after: delay))
            WebImageLog.debug("Tried again in \(delay): \(error)")
            graph.withLock { $0.beginWaiting(id, forNetwork: error.code == .offline) }
            parts.clock.run(after: delay) { [weak self] in self?.retry(id, after: source.attempts) }
        } else {
            remember(error, of: source.request)
            fail(id, error)
        }
    }

    /// The network is back: whoever waits need not wait any longer.
    func retryWaiting() {
        let waiting = graph.withLock { graph in
            graph.sources.compactMap { $0.value.isWaiting ? ($0.key, $0.value.attempts) : nil }
        }
        for (id, attempts) in waiting { retry(id, after: attempts) }
    }

    /// Remembers a failure that would only be met again.
    func remember(_ error: ImageError, of request: ImageRequest) {
        // What is on this machine is quickly looked at again.
        guard loader(for: request)?.shouldCacheOnDisk(request.url) == true else { return }
        let isWanted = parts.shouldRememberFailure.map { $0(request.url, error) } ?? error.isPermanent
        if isWanted { parts.failures.remember(error, for: request.sourceKey, now: parts.clock.now) }
    }

    private func retry(_ id: JobGraph.Identifier, after attempts: Int) {
        guard graph.withLock({ $0.endWaiting(id, attempts: attempts) }),
            let request = graph.withLock({ $0.sources[id]?.request })
        else { return }
        guard let loader = loader(for: request) else {
            fail(id, .invalidURL(request.url, "The loader of this URL is gone"))
            return
        }
        load(id, with: loader)
    }

    private func isUsable(_ stored: CacheEntry, despite error: ImageError) -> Bool {
        Freshness(stored.response, now: parts.clock.now).isUsable(despite: error)
    }

    private func results(of id: JobGraph.Identifier, areUsableDespite error: ImageError) -> Bool {
        graph.withLock { $0.results(ofSource: id) }.allSatisfy { isUsable($0, despite: error) }
    }

    private func pause(after error: ImageError, _ source: JobGraph.Source) -> Duration? {
        let policy = parts.retryPolicy
        if error.code == .offline {
            return policy.offlineWait > .zero && !source.hasWaitedForNetwork ? policy.offlineWait : nil
        }
        return policy.delay(after: error, attempt: source.attempts, chance: .random(in: 0...1))
    }
}
