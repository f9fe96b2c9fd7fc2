import FoundationEssentials

/// Beside stage 4, on the decode queue: the cached image, shown until the server has said whether it is current.
final class StaleImageStage: Sendable {
    private let memoryCache: any MemoryCaching
    private let queue: WorkQueue
    private let slowQueue: WorkQueue
    private let graph: SharedGraph
    private let maker: ImageMaker
    private let renditions: RenditionTier
    private let next: DecodeStage

    init(
        _ dependencies: Pipeline.Dependencies,
        graph: SharedGraph,
        maker: ImageMaker,
        renditions: RenditionTier,
        next: DecodeStage
    ) {
        memoryCache = dependencies.memoryCache
        queue = dependencies.decodeQueue
        slowQueue = dependencies.slowQueue
        self.graph = graph
        self.maker = maker
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
            let ticket = (isSlow ? slowQueue : queue).submit(priority: job.priority) {
                self.show(job.id, original)
                withExtendedLifetime(reservation) {}
            }
            graph.withLock { $0.setDecodeTicket(ticket, of: job.id) }
        }
    }

    private func isSlow(_ original: CacheEntry, _ id: JobGraph.Job.ID) -> Bool {
        graph.job(id).map { maker.isSlow(FetchedData(stored: original, origin: .disk), for: $0.request) } ?? false
    }

    private func show(_ id: JobGraph.Job.ID, _ original: CacheEntry?) {
        guard let job = graph.job(id) else { return }
        let image = image(of: job, id: id, original)
        if let image {
            for task in graph.job(id)?.tasks ?? [] where task.wantsPreview { task.report(partial: image) }
        }
        // The server may have answered in the meantime; this thread then decodes the answer.
        if let answer = graph.withLock({ $0.endStaleImage(image, of: id) }) { next.continueDecoding(id, answer) }
    }

    private func image(of job: JobGraph.Job, id: JobGraph.Job.ID, _ original: CacheEntry?) -> WebImage? {
        if let image = memoryCache.image(for: MemoryQuery(job.request)) { return image }
        let options = maker.decodeOptions(job.request)
        if let image = job.rendition.flatMap({ renditions.image(of: $0, options: options) }) { return image }
        guard let original else { return nil }
        do {
            let source = FetchedData(stored: original, origin: .disk)
            let image = try maker.decode(source, for: job) { graph.job(id) == nil }
            return try maker.transform(image, for: job.request)
        } catch {
            WebImageLog.debug("The stale image is not shown: \(error)")
            return nil
        }
    }
}
