import FoundationEssentials

/// Stage 2, on the I/O queue and the decode queue: the rendition cache. A hit needs neither the original nor a full
/// decode; a miss makes the job wait for its fetch.
struct RenditionStage: PipelineStage {
    let context: StageContext
    /// A rendition that was read from disk.
    private struct Found: Sendable {
        let entry: CacheEntry
        /// The latest response of the server about the original.
        var response: ResponseMetadata
        let mark: ImageVersions.Mark
        let readingDuration: Duration
    }

    /// Looks up the rendition of a job, on the I/O queue.
    func read(_ id: JobGraph.Job.ID) {
        guard let job = graph.job(id) else { return }
        let start = ContinuousClock.now
        let mark = versions.mark(reading: job.key.fetch.url)
        guard let cache = renditions.cache, let entry = cache.entry(for: job.key.rendition), let info = entry.rendition
        else { return readOriginal(for: id, mark) }
        var found = Found(entry: entry, response: entry.response, mark: mark, readingDuration: .now - start)
        if job.request.cachePolicy.asksForChanges, let files = renditions.fileLoader(for: job.request) {
            return confirm(found, of: id, job, with: files)
        }
        let original = dataCache?.metadata(for: job.key.fetch.url)
        guard original == nil || original?.storedAt == info.source else {
            // The original has been replaced since the rendition was made.
            cache.remove(entry.key)
            return readOriginal(for: id, mark)
        }
        if let original { found.response = original.response }
        switch use(of: original ?? entry, for: job.request) {
        case .use:
            decode(found, id)
        case .useAndRefresh:
            decode(found, id, isStale: true)
        case .validate:
            readOriginal(for: id, mark, validating: entry)
        case .confirm, .ignore:
            readOriginal(for: id, mark)
        }
    }

    /// Ends the look-up, and reads the original on the same thread if it is needed now.
    /// - Parameter mark: When the look-up began.
    private func readOriginal(
        for id: JobGraph.Job.ID,
        _ mark: ImageVersions.Mark,
        validating rendition: CacheEntry? = nil
    ) {
        let effects = graph.withLock { $0.endLookUp(id, rendition: rendition, mark: mark) }
        for case .lookUpOriginal(let fetch, let priority) in effects {
            diskStage.lookUp(fetch, priority, since: mark)
        }
    }

    /// Uses the rendition of a file that has not changed.
    private func confirm(_ found: Found, of id: JobGraph.Job.ID, _ job: JobGraph.Job, with files: LocalLoader) {
        // The wait is not blamed on the disk cache.
        graph.withLock { $0.updateJob(id) { $0.isConfirming = true } }
        files.findVersion(of: job.request.url, priority: job.priority) { [self] version in
            if let version, version.etag == found.entry.response.etag {
                decode(found, id)
            } else {
                // A file that is missing may be on a medium that will be mounted again.
                if version != nil { storeStage.outdateRenditions(of: job.key.fetch.url) }
                graph.update { $0.endLookUp(id, rendition: nil) }
            }
        }
    }

    private func decode(_ found: Found, _ id: JobGraph.Job.ID, isStale: Bool = false) {
        guard let (priority, effects) = graph.withLock({ $0.useRendition(id, isStale: isStale) }) else { return }
        if observers.isActive, let url = graph.job(id)?.request.url {
            observers.notify(url, .renditionHit(found.readingDuration))
        }
        graph.update { _ in effects }
        scheduler.submit(id, making: .image, priority: priority, isSlow: false) { self.show(found, id) }
    }

    private func show(_ found: Found, _ id: JobGraph.Job.ID) {
        let entry = found.entry
        // The rendition was made on a machine with more memory. Decoding the original reports the error.
        guard scheduler.canReserve(entry.pixelByteCount) else { return graph.update { $0.discardRendition(id) } }
        let run = DecodeRun(id: id, product: .image, rendition: entry) { [self] job, image, time -> ImageResponse in
            storeStage.storeInMemory(image, for: job, response: found.response, mark: found.mark)
            var response = ImageResponse(image: image, source: .disk, url: job.request.url)
            response.durations.reading = found.readingDuration
            response.durations.decoding = time
            return response
        } decode: { job, _, _ throws(ImageError) in
            throw .cancelled(job.request.url)
        } completion: { [self] _, result, _ in
            guard let response = try? result?.get() else {
                ioQueue.submit(priority: .veryLow) { self.renditions.cache?.remove(entry.key) }
                return graph.update { $0.discardRendition(id) }
            }
            for task in graph.withLock({ $0.finishJob(id) }) { deliveryStage.deliver(response, to: task) }
        }
        scheduler.run(run)
    }
}
