import FoundationEssentials

/// Stage 2, on the I/O queue and the decode queue: the rendition cache. A hit needs neither the original nor a full
/// decode; a miss makes the job wait for its fetch.
final class RenditionStage: Sendable {
    private let dataCache: (any DataCaching)?
    private let ioQueue: WorkQueue
    private let observers: Observers<LoadTraceEvent>
    private let graph: SharedGraph
    private let watch: DiskWatch
    private let maker: ImageMaker
    private let scheduler: DecodeScheduler
    private let renditions: RenditionTier
    private let store: StoreStage
    private let delivery: DeliveryStage

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        watch: DiskWatch,
        maker: ImageMaker,
        scheduler: DecodeScheduler,
        renditions: RenditionTier,
        store: StoreStage,
        delivery: DeliveryStage
    ) {
        dataCache = dependencies.dataCache
        ioQueue = dependencies.ioQueue
        observers = dependencies.observers
        self.graph = graph
        self.watch = watch
        self.maker = maker
        self.scheduler = scheduler
        self.renditions = renditions
        self.store = store
        self.delivery = delivery
    }

    func lookUp(_ id: JobGraph.Job.ID, _ priority: ImagePriority) {
        guard watch.begin(graph.job(id)?.request) else { return graph.update { $0.endLookUp(id, rendition: nil) } }
        let ticket = ioQueue.submit(priority: priority) { self.read(id) }
        graph.withLock { $0.setReadTicket(ticket, of: id) }
    }

    private func read(_ id: JobGraph.Job.ID) {
        defer { watch.end() }
        guard let job = graph.job(id) else { return }
        let start = ContinuousClock.now
        guard let cache = renditions.cache, let entry = cache.entry(for: job.key.rendition), let info = entry.rendition
        else {
            graph.update { $0.endLookUp(id, rendition: nil) }
            return
        }
        if job.request.cachePolicy.asksForChanges, let files = renditions.fileLoader(for: job.request) {
            return confirm(entry, of: id, job, with: files, readingDuration: .now - start)
        }
        let original = dataCache?.metadata(for: job.key.fetch.url)
        guard original == nil || original?.storedAt == info.source else {
            // The original has been replaced since the rendition was made of it.
            cache.remove(entry.key)
            graph.update { $0.endLookUp(id, rendition: nil) }
            return
        }
        switch renditions.use(of: original ?? entry, for: job.request) {
        case .use:
            decode(entry, id, readingDuration: .now - start, completion: nil)
        case .useAndRefresh:
            let refresh = OnDeinit { [graph] in graph.apply([.refresh(job.request)]) }
            decode(entry, id, readingDuration: .now - start, completion: refresh)
        case .validate:
            graph.update { $0.endLookUp(id, rendition: entry) }
        case .confirm, .ignore:
            graph.update { $0.endLookUp(id, rendition: nil) }
        }
    }

    /// Uses the rendition of a file that has not changed.
    private func confirm(
        _ entry: CacheEntry,
        of id: JobGraph.Job.ID,
        _ job: JobGraph.Job,
        with files: LocalLoader,
        readingDuration: Duration
    ) {
        graph.withLock { $0.confirmRendition(of: id) }
        files.findVersion(of: job.request.url, priority: job.priority) { [self] version in
            if let version, version.etag == entry.response.etag {
                decode(entry, id, readingDuration: readingDuration, completion: nil)
            } else {
                // A file that is not there may be on a medium that comes back.
                if version != nil { store.outdateRenditions(of: job.key.fetch.url) }
                graph.update { $0.endLookUp(id, rendition: nil) }
            }
        }
    }

    /// - Parameter completion: Released once the image is in the memory cache, so that a refresh cannot overtake it.
    private func decode(
        _ entry: CacheEntry,
        _ id: JobGraph.Job.ID,
        readingDuration: Duration,
        completion: OnDeinit?
    ) {
        guard let (priority, effects) = graph.withLock({ $0.useRendition(id) }) else { return }
        if observers.isActive, let url = graph.job(id)?.request.url {
            observers.notify(url, .renditionHit(readingDuration))
        }
        graph.apply(effects)
        scheduler.submit(id, making: .image, priority: priority, isSlow: false) {
            self.show(entry, id, readingDuration: readingDuration, completion: completion)
        }
    }

    /// - Parameter reservation: The memory for the pixels, when the job has waited for it.
    private func show(
        _ entry: CacheEntry,
        _ id: JobGraph.Job.ID,
        readingDuration: Duration,
        completion: OnDeinit?,
        reservation: MemoryBudget.Reservation? = nil
    ) {
        guard let job = graph.job(id) else { return }
        let byteCount = entry.pixelByteCount
        // It was made where there is more memory. Decoding the original says what is wrong.
        guard scheduler.canReserve(byteCount) else { return graph.update { $0.discardRendition(id) } }
        let memory =
            reservation
            ?? scheduler.reserve(byteCount, for: id, making: .image, isSlow: false) {
                self.show(entry, id, readingDuration: readingDuration, completion: completion, reservation: $0)
            }
        guard let memory else { return }
        defer { withExtendedLifetime(memory) {} }
        let start = ContinuousClock.now
        guard let image = renditions.image(of: entry, options: maker.decodeOptions(job.request)) else {
            ioQueue.submit(priority: .veryLow) { self.renditions.cache?.remove(entry.key) }
            graph.update { $0.discardRendition(id) }
            return
        }
        store.storeInMemory(image, for: job, response: entry.response)
        var response = ImageResponse(image: image, source: .disk, url: job.request.url)
        response.durations.reading = readingDuration
        response.durations.decoding = .now - start
        for task in graph.withLock({ $0.finishJob(id) }) { delivery.deliver(response, to: task) }
    }
}
