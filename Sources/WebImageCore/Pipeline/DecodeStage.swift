import FoundationEssentials
import Synchronization

// Fourth stage: decoding, transforming and getting ready to be shown, on the decode queue.
extension ImageManager {
    /// Ends a source; each of its jobs decodes the bytes at its own size.
    func decode(_ id: JobGraph.Identifier, _ source: FetchedData) {
        let jobs = graph.withLock { $0.finishSource(id) }
        // A load that was finished for the cache only.
        if jobs.isEmpty, (try? parts.coders.decoder(for: source.loaded.data, url: nil)) != nil {
            source.store?.perform(nil)
        }
        let source = jobs.count > 1 ? source.shared() : source
        for (job, priority) in jobs {
            if graph.withLock({ $0.leaveAfterPreview(source, job) }) { continue }
            // A thread that makes a partial image just now goes on with the whole one.
            let isBusy = graph.withLock { graph in
                graph.updatePartial(of: job) { partial in
                    partial.ending = source
                    defer { partial.isBusy = true }
                    return partial.isBusy
                }
            }
            if isBusy == true { continue }
            let ticket = parts.decodeQueue.submit(priority: priority) { self.decodeWhole(job, source) }
            graph.withLock { $0.setTicket(ticket, ofJob: job) }
        }
    }

    func decodeWhole(_ id: JobGraph.Identifier, _ source: FetchedData) {
        guard let job = graph.withLock({ $0.jobs[id] }) else { return }
        let result: Result<ImageResponse, ImageError>
        var decoded: WebImage?
        var durations = StageDurations()
        durations.reading = source.readingDuration
        do {
            let (image, isNew) = try wholeImage(job, source, &durations)
            decoded = isNew ? image : nil
            var response = ImageResponse(
                image: image,
                source: source.origin,
                url: job.request.url
            )
            response.metrics = source.loaded.metrics
            response.durations = durations
            response.refreshError = source.refreshError
            result = .success(response)
        } catch {
            WebImageLog.debug("\(error)")
            if error.isPermanent { removeUndecodable(source, job.request) }
            if source.origin == .loader { remember(error, of: job.request) }
            result = .failure(error)
        }
        let data = source.loaded.data
        @Sendable func finish(_ task: ImageTask) {
            task.finish(task.request.wantsData && !data.isEmpty ? result.map { $0.with(data) } : result)
        }
        let tasks = graph.withLock { $0.finishJob(id) }
        for task in tasks where !task.request.options.contains(.waitForStore) { finish(task) }
        if let decoded {
            storeRendition(decoded, job, source)
            if let entry = source.entry, job.request.transformer == nil { addThumbHash(decoded, entry) }
        }
        let waiting = tasks.filter { $0.request.options.contains(.waitForStore) }
        guard !waiting.isEmpty else { return }
        parts.ioQueue.submit {
            self.finishStoring(job)
            for task in waiting { finish(task) }
        }
    }

    /// - Returns: The image, and whether it was decoded just now.
    private func wholeImage(
        _ job: JobGraph.Job,
        _ source: FetchedData,
        _ durations: inout StageDurations
    ) throws(ImageError) -> (WebImage, isNew: Bool) {
        let isAsBefore = source.origin == .revalidated || source.refreshError != nil
        // The image that was shown meanwhile, or could have been.
        if isAsBefore, let image = cachedImage(prepared: job.request) { return (image, false) }
        if isAsBefore, let image = job.preview ?? job.result.flatMap({ self.image(of: $0, job.request) }) {
            keep(image, job)
            return (image, false)
        }
        let image = try sharedImage(job, source, &durations)
        keep(image, job)
        return (image, true)
    }

    /// Gets an image ready to be shown, now and later.
    func keep(_ image: WebImage, _ job: JobGraph.Job) {
        job.tasks.lazy.compactMap(\.request.preparation).first?.prepare(image)
        guard job.tasks.contains(where: { $0.request.effectiveCaching.store.contains(.memory) }) else { return }
        parts.memoryCache.store(image, for: job.key.image)
    }

    func decodedImage(_ job: JobGraph.Job, _ source: FetchedData) throws(ImageError) -> WebImage {
        let data = source.loaded.data
        let options = decodeOptions(job.request)
        let coder = try parts.coders.decoder(
            for: data,
            url: job.request.url,
            hint: job.request.formatHint,
            preferring: job.request.decoder
        )
        if case .running(let decoder) = job.partial?.decoder {
            do {
                for chunk in job.partial?.pending ?? [] { try decoder.append(chunk) }
                return try decoder.finish(data).converted(for: options)
            } catch {
                // Decoding it whole gives the image after all, or the error.
                WebImageLog.debug("Partial decoding failed: \(error)")
            }
        }
        return try coder.decode(data, options: options).converted(for: options)
    }

    /// Runs the steps of the transformer.
    func transformed(_ image: WebImage, _ request: ImageRequest) throws(ImageError) -> WebImage {
        var durations = StageDurations()
        return try transformed(request, &durations) { _, make throws(ImageError) in
            try make()
        } decode: { _ in
            image
        }
    }

    /// - Parameters:
    ///   - share: Makes an image under a key, or has it from one who made it.
    ///   - decode: The image before any step.
    private func transformed(
        _ request: ImageRequest,
        _ durations: inout StageDurations,
        share: (String, () throws(ImageError) -> WebImage) throws(ImageError) -> WebImage,
        decode: (inout StageDurations) throws(ImageError) -> WebImage
    ) throws(ImageError) -> WebImage {
        var image = try decode(&durations)
        guard let transformer = request.transformer else { return image }
        if let scale = request.displayScale { image = image.with { $0.displayScale = scale } }
        let start = ContinuousClock.now
        var key = "\(request.displayScale ?? 0)"
        for step in transformer.steps {
            key += " \(step.key)"
            let before = image
            image = try share(key) { () throws(ImageError) in
                if let changed = ImageTransformer.apply(step, to: before) { return changed }
                throw ImageError(
                    .transformFailed,
                    url: request.url,
                    reason: "The transformer \(step.key) failed",
                    remedy:
                        "See that it can handle an image of \(before.pixelSize) pixels; the bytes are in the disk cache."
                )
            }
        }
        durations.transforming = .now - start
        parts.observers.tell(request.url, .transformed(durations.transforming))
        return image
    }

    private func decodedAndStored(
        _ job: JobGraph.Job,
        _ source: FetchedData,
        _ durations: inout StageDurations
    ) throws(ImageError) -> WebImage {
        let start = ContinuousClock.now
        let decoded = try decodedImage(job, source)
        durations.decoding = .now - start
        parts.observers.tell(job.request.url, .decoded(durations.decoding))
        // Bytes that decode are worth keeping, whatever a transformer makes of them.
        source.store?.perform(decoded)
        return decoded
    }

    /// The image with all steps, made together with the other jobs of the source where they want the same.
    private func sharedImage(
        _ job: JobGraph.Job,
        _ source: FetchedData,
        _ durations: inout StageDurations
    ) throws(ImageError) -> WebImage {
        guard let sharing = source.sharing else {
            return try transformed(job.request, &durations) { _, make throws(ImageError) in
                try make()
            } decode: { durations throws(ImageError) in
                try decodedAndStored(job, source, &durations)
            }
        }
        let base = job.decodeKey
        return try transformed(job.request, &durations) { key, make throws(ImageError) in
            try sharing.image("\(base) \(key)", make)
        } decode: { durations throws(ImageError) in
            try sharing.image(base) { () throws(ImageError) in
                try decodedAndStored(job, source, &durations)
            }
        }
    }

    func decodeOptions(_ request: ImageRequest) -> DecodeOptions {
        var options = DecodeOptions(
            url: request.url,
            size: request.decodeSize,
            scale: request.scale,
            maximumPixelCount: parts.maximumPixelCount
        )
        options.isFirstFrameOnly = request.options.contains(.firstFrameOnly)
        options.formatHint = request.formatHint
        options.pixelFormat = request.pixelFormat
        options.convertsToSRGB = !request.options.contains(.ignoreColorProfile)
        return options
    }
}
