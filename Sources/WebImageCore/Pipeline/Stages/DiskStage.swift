import FoundationEssentials

/// Stage 3, on the I/O queue: the disk cache of originals. A fresh original is decoded. Otherwise the loader is asked,
/// for the bytes or whether the original is still current.
struct DiskStage: PipelineStage {
    let context: StageContext
    /// Reads the disk cache for a fetch. A fetch that is not cached there goes to its loader at once.
    /// - Parameter mark: When this thread of the I/O queue began to read the disk for the fetch, if it has.
    func lookUp(_ id: JobGraph.Fetch.ID, _ priority: ImagePriority, since mark: ImageVersions.Mark? = nil) {
        guard let request = graph.request(of: id) else { return }
        let loader = loaders.loader(for: request)
        // The app may have stored an image for a URL that no loader accepts.
        guard dataCache != nil, loader?.shouldCacheOnDisk(request.url) ?? true,
            request.readTiers.contains(.originals)
        else { return fetchStage.load(id, with: loader) }
        // It runs before look-ups of renditions for later loads, or the first transfer would wait for all of them. It does
        // not if another job of the fetch still looks for its rendition, with which the server can be asked for less.
        let isResumed = graph.withLock { $0.isNeededByAll(id) }
        if let mark, isResumed {
            // The disk has just answered.
            diskWatch.end()
            return read(id, loader, since: mark)
        }
        diskWatch.submit(.original(id), priority, isResumed: isResumed) { read(id, loader) }
    }

    private func read(_ id: JobGraph.Fetch.ID, _ loader: (any DataLoading)?, since mark: ImageVersions.Mark? = nil) {
        guard let request = graph.request(of: id), hasRoom(for: id) else { return }
        let (start, mark) = (ContinuousClock.now, mark ?? versions.mark(reading: request.sourceKey))
        var entry = dataCache?.entry(for: request.sourceKey)
        guard let fetch = graph.withLock({ $0.endLookUp(id) }) else { return }
        let confirmation = fetch.confirmation
        // Another process may have removed or replaced the original since the server was asked about it.
        if let confirmed = confirmation?.entry, !confirmed.response.validators.areSame(as: entry?.response.validators) {
            entry = nil
        }
        guard let entry else {
            guard confirmation == nil else { return goOn(id, without: confirmation) }
            observers.notify(request.url, .diskMiss(.now - start))
            return fetchStage.load(id, with: loader, since: mark)
        }
        var data = FetchedData(stored: entry, origin: .disk)
        if let answer = confirmation?.answer {
            data = FetchedData(stored: storeStage.renew(entry, with: answer.metadata), origin: .revalidated)
            (data.loaded.head, data.loaded.metrics) = (answer.head, answer.metrics)
        }
        data.refreshError = confirmation?.refreshError
        data.mark = mark
        data.readingDuration = .now - start
        data.reservation = budget.holdBody(entry.data.count)
        guard confirmation == nil else { return decodeStage.decode(id, data) }
        observers.notify(request.url, .diskHit(data.readingDuration))
        if let hash = entry.thumbHash { show(hash, id) }
        switch use(of: entry, for: request) {
        case .use:
            decodeStage.decode(id, data)
        case .useAndRefresh:
            data.isStale = true
            decodeStage.decode(id, data)
        case .confirm:
            graph.withLock { $0.validate(entry, in: id, isAnswer: false) }
            fetchStage.load(id, with: loader)
        case .validate:
            graph.withLock { $0.validate(entry, in: id) }
            if request.cachePolicy.revalidatesCachedImage {
                staleImageStage.start(id, entry, holding: data.reservation)
            }
            fetchStage.load(id, with: loader)
        case .ignore:
            fetchStage.load(id, with: loader)
        }
    }

    /// Whether a body may be read now. Reading is faster than decoding, so bodies would pile up. If not, the fetch waits.
    private func hasRoom(for id: JobGraph.Fetch.ID) -> Bool {
        if budget.hasRoomForBody { return true }
        guard graph.withLock({ $0.waitForRoom(id) }) else { return false }
        // The closure runs on the thread that releases a body.
        budget.whenRoomForBody { self.ioQueue.submit { self.graph.update { $0.endWaitForRoom(id) } } }
        return false
    }

    /// Continues without an original that is not there, or that the disk does not read in time.
    /// - Parameter confirmation: Why an original that was there before was to be read again.
    func goOn(_ id: JobGraph.Fetch.ID, without confirmation: Confirmation?) {
        guard let error = confirmation?.refreshError else { return fetchStage.load(id) }
        deliveryStage.fail(id, error)
    }

    /// Shows the blurred version of an image to the tasks that want partial images.
    private func show(_ hash: ThumbHash, _ id: JobGraph.Fetch.ID) {
        let tasks = graph.withLock { $0.tasks(of: id) }.filter { task in
            task.wantsPartialImages && task.request.appliesOrientation
        }
        guard !tasks.isEmpty, let image = hash.image?.asPreview else { return }
        for task in tasks { task.report(partial: image, as: .hash) }
    }
}

extension PipelineStage {
    /// How a cached response may be used for a request. That can depend on the header fields that the loader would send
    /// (RFC 9111, section 4.1).
    func use(of entry: CacheEntry, for request: ImageRequest) -> StoredResponseUse {
        let now = clock.now
        let response = entry.response.living(for: request.diskLifetime, from: entry.storedAt)
        guard response.vary != nil || response.redirects?.vary != nil else {
            return request.cachePolicy.use(of: response, headers: [:], now: now)
        }
        var loaderRequest = LoaderRequest(url: request.url, options: request.networkOptions)
        loaderRequest.defaultHeaders = fetchStage.defaultHeaders
        let loader = loaders.loader(for: request)
        return request.cachePolicy.use(
            of: response,
            headers: loader?.headers(for: loaderRequest) ?? [:],
            lacking: (loader as? any NetworkLoading)?.lateFields(of: loaderRequest) ?? .none,
            now: now
        )
    }
}
