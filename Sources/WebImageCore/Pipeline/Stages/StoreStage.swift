import FoundationEssentials

/// Stage 6, on the decode queue and the I/O queue: the original on disk, the memory cache and, after delivery, the rendition.
struct StoreStage: PipelineStage {
    let context: StageContext
    var writer: DiskWriter { context.writer }
    var storeOrder: StoreOrder { context.dependencies.storeOrder }

    /// Prepares an image for display, and stores it in the memory cache.
    /// - Parameters:
    ///   - response: The response that the bytes of the image came with.
    ///   - mark: When the bytes were read or arrived. An image that was replaced or removed since then is not stored.
    func storeInMemory(
        _ image: WebImage,
        for job: JobGraph.Job,
        response: ResponseMetadata,
        mark: ImageVersions.Mark?
    ) {
        job.tasks.lazy.compactMap(\.request.preparation).first?.prepare(image)
        let key = job.key.image
        guard job.tasks.contains(where: { $0.request.cacheAccess.writes.contains(.memory) }),
            versions.isCurrent(mark, of: key.source)
        else { return }
        let entry = MemoryEntry(image, for: key, terms: terms(of: response, for: job.request))
        memoryCache.store(entry)
        if !versions.isCurrent(mark, of: key.source) { memoryCache.remove(entry) }
    }

    private func terms(of response: ResponseMetadata, for request: ImageRequest) -> MemoryTerms? {
        let now = clock.now
        let response = response.living(for: request.diskLifetime, from: now)
        let (staleTime, servingLimit) = response.limitsInMemory(now)
        return MemoryTerms(
            lifetime: request.memoryLifetime ?? context.dependencies.memoryLifetime,
            staleTime: staleTime,
            servingLimit: servingLimit,
            varying: VaryingFields(response, request),
            clock: clock
        )
    }

    /// Ends a job: stores the image in memory, delivers it or the error, and stores the rendition.
    func finish(
        _ id: JobGraph.Job.ID,
        _ job: JobGraph.Job,
        with outcome: DecodeStage.Outcome,
        of data: FetchedData
    ) {
        if let image = outcome.decoded {
            storeInMemory(image, for: job, response: data.loaded.metadata, mark: data.mark)
        }
        let bytes = data.loaded.data
        @Sendable func complete(_ task: ImageTask) {
            switch outcome.result {
            // A confirmed rendition has no bytes here.
            case .success(let response) where bytes.isEmpty: deliveryStage.deliver(response, to: task)
            case let result:
                deliveryStage.deliver(task.request.includesData ? result.map { $0.with(bytes) } : result, to: task)
            }
        }
        let tasks = graph.withLock { $0.finishJob(id) }
        for task in tasks where !task.request.cacheAccess.awaitsWrites { complete(task) }
        if let image = outcome.decoded {
            storeRendition(image, of: job, from: data)
            if let entry = data.entry, job.request.transformer == nil { addThumbHash(of: image, to: entry) }
        }
        let waiting = tasks.filter { $0.request.cacheAccess.awaitsWrites }
        guard !waiting.isEmpty else { return }
        let deliverWaiting = { @Sendable [self] in
            _ = ioQueue.submit { [self] in
                dataCache?.waitUntilWritten(job.key.fetch.url)
                renditions.cache?.waitUntilWritten(job.key.rendition)
                for task in waiting { complete(task) }
            }
        }
        if let original = data.original { original.whenDone(deliverWaiting) } else { deliverWaiting() }
    }
}

// Bytes that are not decoded.
extension StoreStage {
    /// Ends a load of bytes.
    func finish(_ task: DataTask, with data: FetchedData) {
        var response = DataResponse(data.loaded.data, source: data.origin, url: task.request.url)
        response.details = data.details(with: StageDurations())
        guard task.request.cacheAccess.awaitsWrites else { return deliveryStage.deliver(.success(response), to: task) }
        let key = task.request.sourceKey
        ioQueue.submit { [response] in
            self.dataCache?.waitUntilWritten(key)
            deliveryStage.deliver(.success(response), to: task)
        }
    }
}

// Originals.
extension StoreStage {
    /// Stores the bytes of a fetch, which are an image, unless another job has. If storing needs the whole image and the job has
    /// it smaller or without its frames, another job decodes it.
    /// - Parameters:
    ///   - job: The job that has decoded the bytes, if one has.
    ///   - plain: The image before its transformer; `nil` if the bytes were not decoded or could not be.
    func storeOriginal(
        _ data: FetchedData,
        for request: ImageRequest,
        of job: JobGraph.Job? = nil,
        showing plain: WebImage? = nil
    ) {
        guard let original = data.original else { return }
        let serializes = context.dependencies.serializer != nil
        var isPostponed = false
        if serializes, job?.isForOriginal != true {
            guard let plain else { return }
            isPostponed = !request.showsWhole(plain)
        }
        original.enter(isPostponed ? .postponed : .storing) { last in
            if last == .pending, serializes || original.replacesCached { hidePrevious(of: data, original, request) }
            if isPostponed, let job {
                graph.update { $0.addJob(decoding: request.whole, data, key: job.key) }
            } else {
                store(data, original, request, plain)
            }
        }
    }

    /// Keeps loads of other sizes from using the previous version while these bytes are being stored.
    private func hidePrevious(of data: FetchedData, _ original: StoreProgress, _ request: ImageRequest) {
        let (key, mark) = (request.sourceKey, data.mark)
        guard versions.isCurrent(mark, of: key) else { return }
        if original.replacesCached {
            versions.change(key, to: mark, isBeingStored: true)
            // Loads of other sizes may have found the previous version after the bytes arrived.
            memoryCache.removeImages(source: key)
        }
        // While the serializer works, loads would find the previous version on disk.
        guard context.dependencies.serializer != nil else { return }
        renditions.cache?.outdateVariants(of: key)
        guard original.replacesCached else { return }
        storeOrder.perform(key) { [dataCache, versions] in
            if versions.isCurrent(mark, of: key) { dataCache?.remove(key) }
        }
    }

    private func store(_ data: FetchedData, _ original: StoreProgress, _ request: ImageRequest, _ image: WebImage?) {
        let (key, mark, serializer) = (request.sourceKey, data.mark, context.dependencies.serializer)
        var entry = CacheEntry(
            key: key,
            data: data.loaded.data,
            response: data.loaded.metadata,
            storedAt: data.storedAt ?? clock.now
        )
        // What is stored is for all requests, so it is made from the upright image.
        let keepsHash = context.dependencies.keepsThumbHashes
        let upright = serializer != nil || keepsHash ? image?.upright : nil
        if let serializer {
            guard versions.isCurrent(mark, of: key) else { return }
            guard let upright, let serialized = serializer.serialize(upright, entry.data, request.url)
            else { return removeOriginal(key, for: original.replacesCached ? mark : nil) }
            entry.data = serialized
        }
        if keepsHash { entry.thumbHash = upright.flatMap { ThumbHash(of: $0) } }
        let (cache, renditionCache) = (dataCache, serializer == nil ? renditions.cache : nil)
        observers.notify(request.url, .stored)
        // The app may have stored or removed an image since the bytes arrived.
        storeOrder.perform(key) { [versions, entry] in
            guard versions.isCurrent(mark, of: key) else { return }
            // Renditions of the previous version would be used again once this original is evicted.
            renditionCache?.outdateVariants(of: key)
            cache?.store(entry)
            if original.replacesCached { versions.change(key, to: mark) }
        }
        writer.schedule()
    }
}

// Renditions.
extension StoreStage {
    /// Runs on the decoding thread, after delivery, so that pixels cannot pile up behind a full I/O queue.
    private func storeRendition(_ image: WebImage, of job: JobGraph.Job, from data: FetchedData) {
        let response = data.loaded.metadata
        // An update of the app may bring another file under the same name, which would not outdate the rendition.
        guard data.entry?.isBundled != true else { return }
        guard let cache = renditions.cache, !CacheDirectives(response.cacheControl).isNoStore,
            let entry = renditions.entry(
                for: image,
                of: job,
                response: response,
                originalDate: data.storedAt ?? clock.now
            )
        else { return }
        let key = job.key.fetch.url
        guard versions.isCurrent(data.mark, of: key) else { return }
        cache.store(entry)
        if !versions.isCurrent(data.mark, of: key) { cache.outdateVariants(of: key) }
        writer.schedule()
    }
}

extension ImageRequest {
    /// Whether an image of this request contains everything in its file, before the transformer.
    fileprivate func showsWhole(_ image: WebImage) -> Bool {
        image.decodedSize == image.naturalSize && !isFirstFrameOnly && pixelFormat == nil && convertsToSRGB
    }

    /// The request for everything in the file.
    fileprivate var whole: ImageRequest {
        var request = self
        request.decodeSize = .original
        request.isFirstFrameOnly = false
        request.pixelFormat = nil
        request.convertsToSRGB = true
        request.appliesOrientation = true
        request.transformer = nil
        return request
    }
}
