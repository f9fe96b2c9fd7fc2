import FoundationEssentials

/// Stage 5, on the decode queue: each job of a fetch decodes its bytes at its own size and runs its transformer.
struct DecodeStage: PipelineStage {
    /// The result of a job.
    struct Outcome: Sendable {
        var result: ImageResult
        /// The image, if it was decoded just now rather than found in a cache.
        var decoded: WebImage?
    }

    let context: StageContext
    /// The time in seconds after which a decode makes room for others.
    private static let turn = 2.0

    /// Ends a fetch, decodes its bytes for each of its jobs, and hands them to its readers.
    func decode(_ id: JobGraph.Fetch.ID, _ data: FetchedData) {
        let (fetch, readers, jobs) = graph.withLock { ($0.fetches[id], $0.finishReaders(of: id), $0.finishFetch(id)) }
        var data = data
        if jobs.count > 1 { data.coalescer = DecodeCoalescer() }
        if let fetch { data.failures = (fetch.failures, fetch.attemptStart) }
        // Data-only loads, and loads that were finished for the disk cache, are not decoded.
        if jobs.isEmpty, let request = fetch?.request, (try? maker.plan(of: data, for: request)) != nil {
            storeStage.storeOriginal(data, for: request)
        }
        for reader in readers { storeStage.finish(reader, with: data) }
        for job in jobs where job.wantsThumbnail {
            partialImageStage.submitThumbnail(of: data, for: job.id, priority: job.priority)
        }
        if data.isStale, let request = fetch?.request { graph.update { $0.refresh(request, after: jobs.map(\.id)) } }
        for job in jobs where !graph.withLock({ $0.handOver(data, to: job.id) }) {
            submit(job.id, data)
        }
    }

    /// Submits the decode of a job.
    /// - Parameter isOnQueue: Whether this thread of the decode queue decodes the bytes within this call, unless that is slow.
    func submit(_ id: JobGraph.Job.ID, _ data: FetchedData, isOnQueue: Bool = false) {
        guard let job = graph.job(id) else { return }
        var data = data
        data.plan = try? maker.plan(of: data, for: job.request)
        let isSlow = scheduler.isSlow(data)
        if isOnQueue, !isSlow { return scheduler.run(run(of: id, job, data)) }
        // The bodies of slow decodes do not keep other bodies from being read, up to a limit.
        if isSlow, budget.arrivingByteCount < budget.bodyLimit {
            data.reservation = budget.arrivingBody(data.loaded.isInFile ? 0 : data.loaded.data.count)
        }
        let run = run(of: id, job, data)
        scheduler.submit(id, making: .image, priority: job.priority, isSlow: isSlow) { [scheduler] in
            scheduler.run(run)
        }
    }

    private func run(of id: JobGraph.Job.ID, _ job: JobGraph.Job, _ data: FetchedData) -> DecodeRun<Outcome> {
        var run = DecodeRun(id: id, product: .image, original: data) { [self] job, image, _ in
            storeConfirmed(image, of: job, data)
            return outcome(image, of: job, data)
        } decode: { [self] job, data, memory throws(ImageError) in
            try decodedImage(of: job, id: id, data, with: memory)
        } completion: { [self] job, result, _ in
            switch result {
            case .success(let outcome):
                // The image may be shared with the job that left storing to this one.
                if job.isForOriginal {
                    storeStage.storeOriginal(data, for: job.request, of: job, showing: outcome.decoded)
                }
                storeStage.finish(id, job, with: outcome, of: data)
            case .failure(let error): fail(id, job, data, error)
            case nil: break
            }
        }
        if data.isConfirmed { run.rendition = job.rendition }
        if data.isConfirmed || job.isForOriginal { run.endsEarly = { [self] job in endEarly(id, job, with: data) } }
        return run
    }

    /// Ends a job whose image the caches have, or that has nothing to store any longer.
    private func endEarly(_ id: JobGraph.Job.ID, _ job: JobGraph.Job, with data: FetchedData) -> Bool {
        let known: Outcome
        if job.isForOriginal {
            // Another job may have decoded the whole image.
            guard data.original?.isUnstored != true else { return false }
            known = Outcome(result: .failure(.cancelled(job.request.url)))
        } else if let cached = cachedImage(of: job, data) {
            known = outcome(cached, of: job, data)
        } else if data.origin == .memory, let error = data.refreshError {
            // The memory cache has evicted the image just now.
            known = Outcome(result: .failure(error))
        } else {
            return false
        }
        storeStage.finish(id, job, with: known, of: data)
        return true
    }

    private func decodedImage(
        of job: JobGraph.Job,
        id: JobGraph.Job.ID,
        _ data: FetchedData,
        with memory: DecodeMemory
    ) throws(ImageError) -> Outcome {
        // Each step is made once for all jobs of the fetch.
        func share(_ key: String, _ make: () throws(ImageError) -> WebImage) throws(ImageError) -> WebImage {
            guard let coalescer = data.coalescer else { return try make() }
            // A decode that failed for lack of memory does not count for a decode with more memory.
            return try coalescer.image("\(job.decodeKey) \(memory.pixelCount) \(key)", make)
        }
        var durations = StageDurations()
        let plain = try share("") { () throws(ImageError) in
            try decode(data, for: job, id: id, &durations, with: memory)
        }
        memory.endDecoding()
        let transformed = try maker.transform(plain, for: job.request, share: share)
        durations.transforming = transformed.duration
        var outcome = outcome(transformed.image, of: job, data, durations: durations)
        outcome.decoded = transformed.image
        return outcome
    }

    func outcome(
        _ image: WebImage,
        of job: JobGraph.Job,
        _ data: FetchedData,
        durations: StageDurations = StageDurations()
    ) -> Outcome {
        var response = ImageResponse(image: image, source: data.origin, url: job.request.url)
        response.details = data.details(with: durations)
        return Outcome(result: .success(response))
    }

    private func decode(
        _ data: FetchedData,
        for job: JobGraph.Job,
        id: JobGraph.Job.ID,
        _ durations: inout StageDurations,
        with memory: DecodeMemory
    ) throws(ImageError) -> WebImage {
        let (start, date) = (ContinuousClock.now, clock.now)
        var begun: WebImage?
        if case .progressive(let decoding) = job.preview { begun = decoding.finished(data.loaded.data) }
        let image = try memory.image(of: data.loaded.data, begun: begun) {
            let isLate = clock.now.timeIntervalSince(date) >= Self.turn
            return isLate && !data.takesLong && !memory.plan.isSlow && scheduler.isBusy || graph.job(id) == nil
        }
        durations.decoding = .now - start
        if !job.isForOriginal { observers.notify(job.request.url, .decoded(durations.decoding)) }
        // Bytes that decode are worth storing, whatever the transformer does with them. Jobs that share the image wait for this:
        // with the image, the app may attach data to its bytes, or ask for them.
        storeStage.storeOriginal(data, for: job.request, of: job, showing: image)
        return image
    }
}
