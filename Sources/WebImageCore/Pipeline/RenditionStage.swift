import FoundationEssentials
import Synchronization

// Before the second stage: an image that was kept at the size asked for needs neither the original nor much decoding.
extension ImageManager {
    /// Whether the disk may have, or may get, the result of a request: what is decoded at its own size is as quickly
    /// decoded from the original.
    func hasRenditionTier(_ request: ImageRequest) -> Bool {
        guard parts.renditionCache != nil, request.decodeSize != .original || request.transformer != nil else {
            return false
        }
        return loader(for: request)?.shouldCacheOnDisk(request.url) == true
    }

    func lookUp(_ id: JobGraph.Identifier, _ priority: ImagePriority) {
        let ticket = parts.ioQueue.submit(priority: priority) { self.readRendition(id) }
        graph.withLock { $0.setReadTicket(ticket, ofJob: id) }
    }

    private func readRendition(_ id: JobGraph.Identifier) {
        guard let job = graph.withLock({ $0.jobs[id] }) else { return }
        let start = ContinuousClock.now
        guard let entry = parts.renditionCache?.entry(for: job.key.result), let info = entry.rendition else {
            endLookUp(id, nil)
            return
        }
        let original = parts.dataCache?.metadata(for: job.key.source.url)
        guard original == nil || original?.storedAt == info.source else {
            // Of a version of the image that is no more.
            parts.renditionCache?.remove(entry.key)
            endLookUp(id, nil)
            return
        }
        let response = (original ?? entry).response
        switch reuse(response, job.request) {
        case .use:
            finish(id, with: entry, reading: .now - start, nil)
        case .useAndRefresh:
            finish(
                id,
                with: entry,
                reading: .now - start,
                OnDeinit { [weak self] in self?.refreshInBackground(job.request) }
            )
        case .validate:
            endLookUp(id, entry)
        case .ignore:
            endLookUp(id, nil)
        }
    }

    /// A result that cannot be shown as it is goes along to the source, and may be needed yet.
    private func endLookUp(_ id: JobGraph.Identifier, _ result: CacheEntry?) {
        perform(graph.withLock { $0.endLookUp(id, result: result) })
    }

    private func finish(
        _ id: JobGraph.Identifier,
        with entry: CacheEntry,
        reading: Duration,
        _ afterwards: OnDeinit?
    ) {
        guard let (priority, changes) = graph.withLock({ $0.useRendition(id) }) else { return }
        if let url = graph.withLock({ $0.jobs[id]?.request.url }) { parts.observers.tell(url, .renditionHit) }
        perform(changes)
        let ticket = parts.decodeQueue.submit(priority: priority) {
            guard let job = self.graph.withLock({ $0.jobs[id] }) else { return }
            let start = ContinuousClock.now
            guard let image = self.image(of: entry, job.request) else {
                self.parts.ioQueue.submit(priority: .veryLow) { self.parts.renditionCache?.remove(entry.key) }
                self.perform(self.graph.withLock { $0.giveUpRendition(id) })
                return
            }
            self.keep(image, job)
            var response = ImageResponse(image: image, source: .disk, url: job.request.url)
            response.durations.reading = reading
            response.durations.decoding = .now - start
            for task in self.graph.withLock({ $0.finishJob(id) }) {
                if task.request.wantsData {
                    self.finishWithData(task, response)
                } else {
                    task.finish(.success(response))
                }
            }
            _ = afterwards
        }
        graph.withLock { $0.setTicket(ticket, ofJob: id) }
    }

    func image(of result: CacheEntry, _ request: ImageRequest) -> WebImage? {
        guard let info = result.rendition, let pixels = parts.renditionCoder?.decode(result.data, info) else {
            return nil
        }
        return info.image(pixels, decodeOptions(request))
    }

    /// After the image was delivered: the same thread writes it down, so that nothing piles up.
    func storeRendition(_ image: WebImage, _ job: JobGraph.Job, _ source: FetchedData) {
        // One of an animation would be a still image.
        guard image.animation == nil, let cache = parts.renditionCache, let date = source.storedAt,
            hasRenditionTier(job.request),
            job.request.effectiveCaching.store.contains(.disk),
            job.request.transformer != nil
                || image.decodedSize.pixelCount * 2 <= image.naturalSizeBeforeTransform.pixelCount,
            let (data, encoding) = parts.renditionCoder?.encode(image, hasRoom: cache.isHalfEmpty)
        else { return }
        var entry = CacheEntry(
            key: job.key.result,
            data: data,
            response: source.loaded.metadata,
            storedAt: parts.clock.now
        )
        entry.rendition = RenditionInfo(image, encoding: encoding, source: date)
        cache.store(entry)
        parts.ioQueue.submit(priority: .veryLow) { cache.flush() }
    }
}

extension JobGraph.JobKey {
    /// The key in the cache of results: the URL first, so that all results of a URL are found.
    var result: String {
        image.renditionKey(size: size)
    }
}
