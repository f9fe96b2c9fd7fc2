import FoundationEssentials

/// After a failed stage 4: a stale copy is used, the loader is asked again later, or the fetch fails.
struct RetryStage: PipelineStage {
    let context: StageContext
    func recover(_ id: JobGraph.Fetch.ID, from error: ImageError) {
        guard let fetch = graph.withLock({ $0.fetches[id] }) else { return }
        var error = error
        error.attemptCount = max(fetch.attemptCount, 1)
        // Reported along with the cached image that is used instead.
        let refreshError = fetch.ending(with: error, at: clock.now)
        if let entry = fetch.usableOriginal, isUsable(entry, despite: error) {
            WebImageLog.debug("A stale cached image is used: \(error)")
            graph.update { $0.readConfirmed(id, Confirmation(entry: entry, refreshError: refreshError)) }
        } else if let origin = staleImages(of: id, fetch, despite: error) {
            WebImageLog.debug("A stale image in the cache (\(origin)) is used: \(error)")
            var data = FetchedData(loaded: LoaderResult(data: Data()), origin: origin)
            data.refreshError = refreshError
            // An image in memory has no bytes.
            let readers = origin == .memory ? graph.withLock { $0.finishReaders(of: id) } : []
            for reader in readers { deliveryStage.deliver(.failure(refreshError), to: reader) }
            decodeStage.decode(id, data)
        } else if fetch.isWanted, let delay = delay(after: error, fetch) {
            observers.notify(fetch.request.url, .retrying(error, after: delay))
            WebImageLog.debug("The load is retried in \(delay): \(error)")
            graph.withLock { $0.beginBackoff(id, after: error, at: clock.now) }
            clock.run(after: delay) { [weak graph] in
                graph?.update { $0.endBackoff(id, afterAttempt: fetch.attemptCount) }
            }
        } else {
            context.dependencies.recordFailure(error, fetch.request)
            deliveryStage.fail(id, error)
        }
    }

    /// The cache that has an image for every task, which may be used although the server is unreachable: the renditions that the
    /// server was asked to validate, or images in memory whose originals the disk cache has evicted.
    private func staleImages(
        of id: JobGraph.Fetch.ID,
        _ fetch: JobGraph.Fetch,
        despite error: ImageError
    ) -> LoadSource? {
        let (renditions, tasks) = graph.withLock { ($0.renditions(of: id), $0.tasks(of: id)) }
        if case .renditions = fetch.validation, renditions.allSatisfy({ isUsable($0.entry, despite: error) }) {
            return .disk
        }
        guard error.leavesCachedImage, !tasks.isEmpty else { return nil }
        let now = clock.now.timeIntervalSince1970
        let areThere = tasks.allSatisfy { task in
            // The bytes of the file are not in memory.
            guard task.request.readTiers.contains(.memory), !task.request.includesData,
                let entry = memoryCache.entry(for: task.request)
            else { return false }
            return now < entry.terms?.servingLimit ?? .infinity
        }
        return areThere ? .memory : nil
    }

    /// Whether a cached copy may be served although the server is unreachable (RFC 5861, section 4).
    private func isUsable(_ entry: CacheEntry, despite error: ImageError) -> Bool {
        Freshness(entry.response, now: clock.now).isUsable(despite: error)
    }

    private func delay(after error: ImageError, _ fetch: JobGraph.Fetch) -> Duration? {
        let policy = context.dependencies.retryPolicy
        guard error.code == .offline else {
            return policy.delay(after: error, attempt: fetch.attemptCount, chance: .random(in: 0...1))
        }
        return policy.offlineWait > .zero && !fetch.hasWaitedForNetwork ? policy.offlineWait : nil
    }
}
