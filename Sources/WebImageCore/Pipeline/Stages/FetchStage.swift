import FoundationEssentials

/// Stage 4, on the loader's threads: the bytes of a URL, from the network, a file, or wherever the loader gets them.
struct FetchStage: PipelineStage {
    let context: StageContext
    private var failures: FailureCache { context.dependencies.failures }

    /// Calls the loader, unless the request is bound to fail because it is refused, offline or in the failure cache.
    /// - Parameters:
    ///   - found: The loader of the request, if it was looked up already.
    ///   - mark: When the read of the caches began that has found no image. Default: now.
    func load(_ id: JobGraph.Fetch.ID, with found: (any DataLoading)? = nil, since mark: ImageVersions.Mark? = nil) {
        guard let request = graph.request(of: id) else { return }
        guard request.cachePolicy.asksLoader else { return deliveryStage.fail(id, .notInCache(request.url)) }
        guard let loader = found ?? loaders.loader(for: request) else {
            let hasExpired = graph.withLock { $0.hasCachedImage(id) }
            return deliveryStage.fail(id, .noLoader(for: request.url, hasExpired: hasExpired))
        }
        if context.dependencies.shouldLoad?(request.url) == false {
            deliveryStage.fail(id, .loadRefused(request.url))
        } else if !failures.isEmpty, let error = rememberedFailure(of: request, id) {
            deliveryStage.fail(id, error)
        } else if case let status = context.dependencies.network.status, !loader.canReach(request.url, status),
            status.isOfflineByApp || !(loader is any NetworkLoading)
        {
            retryStage.recover(id, from: .offline(request.url, isByApp: status.isOfflineByApp))
        } else {
            start(id, loader, since: mark ?? versions.mark())
        }
    }

    /// The failure of an earlier load, which would repeat.
    private func rememberedFailure(of request: ImageRequest, _ id: JobGraph.Fetch.ID) -> ImageError? {
        guard request.rememberedFailure != .ignored, !request.cachePolicy.ignoresFailures,
            let error = failures.error(for: request, now: clock.now)
        else { return nil }
        guard error.isOfDecoding else { return error }
        // A task may be able to decode bytes that others could not decode.
        let (tasks, readers) = graph.withLock { ($0.tasks(of: id), $0.readers(of: id)) }
        let mayDecode = tasks.contains { task in
            task.request.hasOwnDecoding(of: nil) || error.isOfLaterFrames && task.request.isFirstFrameOnly
        }
        return mayDecode || !readers.isEmpty ? nil : error
    }

    /// The header fields that tell a server what the manager can show (RFC 9110, 12.5.1), and that data costs money (Save-Data of Client
    /// Hints).
    var defaultHeaders: [String: String] {
        var fields = context.dependencies.coders.acceptField(for: context.dependencies.formats.untrusted)
        if context.dependencies.network.status.isMetered { fields["Save-Data"] = "on" }
        return fields
    }

    private func start(
        _ id: JobGraph.Fetch.ID,
        _ loader: any DataLoading,
        since mark: ImageVersions.Mark,
        isConditional: Bool = true
    ) {
        let attempt = graph.withLock { $0.beginAttempt(id, at: clock.now, mark: mark, isConditional: isConditional) }
        guard let (fetch, validators) = attempt else { return }
        observers.notify(fetch.request.url, .fetchStarted)
        if case .renditions = fetch.validation, fetch.request.cachePolicy.revalidatesCachedImage {
            staleImageStage.start(id, nil)
        }
        if fetch.wantsStreaming, let files = loader as? LocalLoader {
            for job in fetch.jobs { partialImageStage.findThumbnail(of: job, with: files) }
        }
        var request = LoaderRequest(
            url: fetch.request.url,
            priority: fetch.priority,
            wantsData: fetch.wantsStreaming,
            options: fetch.request.networkOptions,
            validators: validators
        )
        request.shouldLoad = context.dependencies.shouldLoad
        request.defaultHeaders = defaultHeaders
        // The system may be wrong about the network, for example behind a VPN. One quick attempt finds out.
        request.isQuickAttempt = !loader.canReach(request.url, context.dependencies.network.status)
        request.age = id.number
        request.maximumByteCount = context.dependencies.maximumByteCount
        request.budget = budget
        request.refusal = { [weak context] head in
            context.flatMap { FetchStage(context: $0).refusal(of: head, for: id) }
        }
        let operation = loader.load(request) { event in
            if case .finished(.success(let answer)) = event, answer.isNotModified,
                validators.contradict(answer.metadata.etag)
            {
                start(id, loader, since: mark, isConditional: false)
            } else {
                receive(event, of: id, from: loader)
            }
        }
        graph.update { [request] in $0.setOperation(operation, of: id, attempt: fetch.attemptCount, request: request) }
    }

    private func receive(_ event: LoaderEvent, of id: JobGraph.Fetch.ID, from loader: any DataLoading) {
        switch event {
        case .progress(let received, let expected):
            if observers.isActive, let url = graph.withLock({ $0.takeFirstBytes(of: id) }) {
                observers.notify(url, .firstBytes(expected: expected))
            }
            let (tasks, readers) = graph.withLock { graph in
                graph.setProgress(received, expected, of: id)
                return (graph.tasks(of: id), graph.readers(of: id))
            }
            for task in tasks { task.report(received: received, expected: expected) }
            for reader in readers { reader.report(received: received, expected: expected) }
        case .data(let chunk):
            for job in graph.withLock({ $0.append(chunk, to: id, budget) }) {
                decodeQueue.submit(priority: job.priority, age: job.id.number) { progressiveStage.decode(job.id) }
            }
        case .finished(.success(let loaded)):
            finish(id, with: loaded, from: loader)
        case .finished(.failure(let error)):
            let seemsOffline = isOffline(error, of: graph.request(of: id), by: loader)
            retryStage.recover(id, from: seemsOffline ? .offline(error.url) : error)
        }
    }

    /// Whether an error only means that there is no network, as the system reports.
    private func isOffline(_ error: ImageError, of request: ImageRequest?, by loader: any DataLoading) -> Bool {
        let codes: [ImageError.Code] = [.hostNotFound, .connectionFailed, .timedOut]
        guard codes.contains(error.code), loader is any NetworkLoading, let request else { return false }
        return !loader.canReach(request.url, context.dependencies.network.status)
    }

    private func finish(_ id: JobGraph.Fetch.ID, with loaded: LoaderResult, from loader: any DataLoading) {
        guard let fetch = graph.withLock({ $0.fetches[id] }) else { return }
        var loaded = loaded
        loaded.metadata = loaded.metadata.living(for: fetch.request.diskLifetime, from: clock.now)
        observers.notify(fetch.request.url, .fetched(loaded.metrics))
        // Data-only loads are not decoded, so a remembered decoding failure still stands.
        let hasJobs = !fetch.jobs.isEmpty
        if !failures.isEmpty, hasJobs || failures.error(for: fetch.request, now: clock.now)?.isOfDecoding != true {
            failures.forget(fetch.request)
        }
        switch fetch.validation {
        case .original(let entry, _) where loaded.isNotModified:
            graph.update { $0.readConfirmed(id, Confirmation(entry: entry, answer: loaded)) }
        case .renditions where loaded.isNotModified:
            storeStage.renewRenditions(of: id, with: loaded.metadata)
            decodeStage.decode(id, FetchedData(loaded: loaded, origin: .revalidated))
        default:
            let outdatesMemory = outdatesMemory(id, fetch)
            decodeStage.decode(id, received(loaded, of: fetch, outdatesMemory: outdatesMemory, loader))
        }
    }

    /// Whether the sizes in the memory cache belong to an earlier version: the server has said so, or the load bypassed
    /// the caches and replaces what they hold.
    private func outdatesMemory(_ id: JobGraph.Fetch.ID, _ fetch: JobGraph.Fetch) -> Bool {
        guard case .none = fetch.validation, !fetch.request.cachePolicy.revalidatesCachedImage else { return true }
        guard !fetch.key.queriesOriginals else { return false }
        return graph.withLock { graph in
            graph.tasks(of: id).contains { $0.request.cacheAccess.writes.contains(.memory) }
                || graph.readers(of: id).contains { $0.request.cacheAccess.writes.contains(.memory) }
        }
    }

    /// Records the arrival of bytes, which are stored once they have decoded: the cache never gets a file that is not an image.
    /// - Parameter outdatesMemory: Whether the images in memory belong to an earlier version.
    private func received(
        _ loaded: LoaderResult,
        of fetch: JobGraph.Fetch,
        outdatesMemory: Bool,
        _ loader: any DataLoading
    ) -> FetchedData {
        let key = fetch.key.url
        let mark = fetch.mark.map { versions.mark(of: key, since: $0) } ?? versions.mark()
        // Bytes that are not kept must not keep other loads from storing theirs.
        let replacesCached = fetch.key.storesOriginals && (outdatesMemory || !fetch.key.queriesOriginals)
        if versions.isCurrent(mark, of: key) {
            if replacesCached { versions.change(key, to: mark) }
            if outdatesMemory { memoryCache.removeImages(source: key) }
        }
        var data = FetchedData(loaded: loaded, origin: .loader)
        data.mark = mark
        data.reservation = budget.holdBody(loaded.data.count, isInFile: loaded.isInFile)
        // Bytes that were loaded bypassing the caches replace what these hold.
        if loader.isOfFiles, !fetch.key.queriesOriginals { storeStage.outdateRenditions(of: key) }
        // A range answers no request for the whole (RFC 9111, section 3.3).
        guard dataCache != nil, loader.shouldCacheOnDisk(fetch.request.url), fetch.key.storesOriginals, !loaded.isRange
        else { return data }
        if CacheDirectives(loaded.metadata.cacheControl).isNoStore {
            storeStage.removeFromDisk(key)
        } else {
            (data.original, data.storedAt) = (StoreProgress(replacesCached: replacesCached), clock.now)
        }
        return data
    }

    /// The error of a body that begins as no task's image, so that its rest need not be loaded; `nil` for other bodies.
    private func refusal(of head: Data, for id: JobGraph.Fetch.ID) -> ImageError? {
        let (tasks, readers) = graph.withLock { ($0.tasks(of: id), $0.readers(of: id)) }
        let problems = tasks.map { maker.problem(of: head, for: $0.request) }
        return readers.isEmpty && !problems.contains { $0 == nil } ? problems.first ?? nil : nil
    }
}
