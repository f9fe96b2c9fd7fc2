import FoundationEssentials

/// Beside stage 4, on the decode queue: the cached image, shown until the server has said whether it is current.
final class StaleImageStage: Sendable {
    private let memoryCache: any MemoryCaching
    private let graph: SharedGraph
    private let maker: ImageMaker
    private let scheduler: DecodeScheduler
    private let renditions: RenditionTier
    private let next: DecodeStage

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        maker: ImageMaker,
        scheduler: DecodeScheduler,
        renditions: RenditionTier,
        next: DecodeStage
    ) {
        memoryCache = dependencies.memoryCache
        self.graph = graph
        self.maker = maker
        self.scheduler = scheduler
        self.renditions = renditions
        self.next = next
    }

    /// - Parameters:
    ///   - original: The original on disk; `nil` when the jobs only have renditions.
    ///   - reservation: Counts the bytes of the original until they are decoded.
    func start(
        _ fetch: JobGraph.Fetch.ID,
        _ original: CacheEntry?,
        holding reservation: MemoryBudget.Reservation? = nil
    ) {
        for job in graph.withLock({ $0.beginStaleImages(of: fetch) }) {
            let isSlow = original.map { self.isSlow($0, job.id) } ?? false
            scheduler.submit(job.id, priority: job.priority, isSlow: isSlow) {
                self.show(job.id, original, holding: reservation)
            }
        }
    }

    private func isSlow(_ original: CacheEntry, _ id: JobGraph.Job.ID) -> Bool {
        graph.job(id).map { scheduler.isSlow(FetchedData(stored: original, origin: .disk), for: $0.request) } ?? false
    }

    /// - Parameters:
    ///   - body: Counts the bytes of the original.
    ///   - reservation: The memory for decoding the original, when the job has waited for it.
    private func show(
        _ id: JobGraph.Job.ID,
        _ original: CacheEntry?,
        holding body: MemoryBudget.Reservation?,
        reservation: MemoryBudget.Reservation? = nil
    ) {
        defer { withExtendedLifetime(body) {} }
        // What was to be shown in the meantime may not be needed any more.
        guard let job = graph.job(id), case .stale(.decoding) = job.preview else { return }
        var image = reservation == nil ? cachedImage(of: job) : nil
        var memory = reservation
        defer { withExtendedLifetime(memory) {} }
        if image == nil, let original {
            let source = FetchedData(stored: original, origin: .disk)
            do throws(ImageError) {
                let cost = try maker.cost(of: source, for: job, makesRendition: false)
                if memory == nil {
                    let isSlow = scheduler.isSlow(source, for: job.request)
                    memory = scheduler.reserve(cost.decoding, for: id, isSlow: isSlow) {
                        self.show(id, original, holding: body, reservation: $0)
                    }
                }
                guard let memory else { return }
                let decoded = try maker.decode(source, for: job) { graph.job(id) == nil }
                memory.shrink(to: cost.final)
                image = try maker.transform(decoded, for: job.request)
            } catch {
                WebImageLog.debug("The stale image is not shown: \(error)")
            }
        }
        if let image {
            for task in graph.job(id)?.tasks ?? [] where task.wantsPreview { task.report(partial: image) }
        }
        memory?.shrink(to: 0)
        // The server may have answered in the meantime; this thread then decodes the answer.
        if let answer = graph.withLock({ $0.endStaleImage(image, of: id) }) { next.continueDecoding(id, answer) }
    }

    private func cachedImage(of job: JobGraph.Job) -> WebImage? {
        if let image = memoryCache.image(for: MemoryQuery(job.request)) { return image }
        let options = maker.decodeOptions(job.request)
        return job.rendition.flatMap { renditions.image(of: $0, options: options) }
    }
}
