import FoundationEssentials

/// A helper of stage 4, on the decode queue: shows the cached image until the server has said whether it is current.
struct StaleImageStage: PipelineStage {
    let context: StageContext
    /// - Parameters:
    ///   - original: The original on disk; `nil` if the jobs only have renditions.
    ///   - reservation: Counts the bytes of the original until they are decoded.
    func start(
        _ fetch: JobGraph.Fetch.ID,
        _ original: CacheEntry?,
        holding reservation: MemoryBudget.Reservation? = nil
    ) {
        let original = original.map { FetchedData(stored: $0, origin: .disk) }
        for (id, job) in graph.withLock({ $0.beginStaleImages(of: fetch) }) {
            var data = original
            data?.plan = original.flatMap { try? maker.plan(of: $0, for: job.request) }
            // No rendition is made of it.
            data?.plan?.isChanged = job.request.transformer != nil
            let isSlow = data.map { scheduler.isSlow($0) } ?? false
            let run = run(of: id, job.rendition, data, holding: reservation)
            scheduler.submit(id, making: .staleImage, priority: job.priority, isSlow: isSlow) { [scheduler] in
                scheduler.run(run)
            }
        }
    }

    /// - Parameter body: Counts the bytes of the original.
    private func run(
        of id: JobGraph.Job.ID,
        _ rendition: CacheEntry?,
        _ data: FetchedData?,
        holding body: MemoryBudget.Reservation?
    ) -> DecodeRun<WebImage> {
        DecodeRun(id: id, product: .staleImage, rendition: rendition, original: data) { [self] job in
            guard case .stale(.decoding) = job.preview else { return true }
            guard let entry = memoryCache.entry(for: job.request) else { return false }
            end(id, entry.image)
            return true
        } show: { _, image, _ in
            image
        } decode: { [self] job, data, memory throws(ImageError) in
            guard case .stale(.decoding) = job.preview else { throw .cancelled(job.request.url) }
            let image = try memory.image(of: data.loaded.data) { graph.job(id) == nil }
            memory.endDecoding()
            return try maker.transform(image, for: job.request)
        } completion: { [self] _, result, memory in
            if case .failure(let error) = result { WebImageLog.debug("The stale image is not shown: \(error)") }
            // The answer is decoded next and may have to wait for memory.
            memory?.shrink(to: 0)
            end(id, try? result?.get())
            withExtendedLifetime(body) {}
        }
    }

    private func end(_ id: JobGraph.Job.ID, _ image: WebImage?) {
        if let image {
            for task in graph.job(id)?.tasks ?? [] where task.wantsPreview { task.report(partial: image) }
        }
        // The server may have answered in the meantime; this thread then decodes the answer.
        guard let answer = graph.withLock({ $0.endStaleImage(image, of: id) }) else { return }
        decodeStage.submit(id, answer, isOnQueue: true)
    }
}
