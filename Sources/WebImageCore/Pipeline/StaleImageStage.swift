import FoundationEssentials

/// Beside stage 4, on the decode queue: the cached image, shown until the server has said whether it is current.
final class StaleImageStage: PipelineStage {
    let context: StageContext
    private let next: DecodeStage

    init(_ context: StageContext, next: DecodeStage) {
        self.context = context
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
            scheduler.submit(job.id, making: .staleImage, priority: job.priority, isSlow: isSlow) {
                self.show(job.id, original, after: Continuation(body: reservation))
            }
        }
    }

    private func isSlow(_ original: CacheEntry, _ id: JobGraph.Job.ID) -> Bool {
        graph.job(id).map { scheduler.isSlow(FetchedData(stored: original, origin: .disk), for: $0.request) } ?? false
    }

    /// How showing an image goes on that has begun.
    private struct Continuation: Sendable {
        /// Counts the bytes of the original.
        let body: MemoryBudget.Reservation?
        /// Whether the rendition is not there, or damaged.
        var ignoresRendition = false
        /// How many pixels the decoder has found, more than there was memory for.
        var pixelCount: Int?
    }

    /// - Parameter reservation: The memory, when the job has waited for it.
    private func show(
        _ id: JobGraph.Job.ID,
        _ original: CacheEntry?,
        after state: Continuation,
        reservation: MemoryBudget.Reservation? = nil
    ) {
        defer { withExtendedLifetime(state.body) {} }
        // What was to be shown in the meantime may not be needed any more.
        guard let job = graph.job(id), case .stale(.decoding) = job.preview else { return }
        var image = reservation == nil ? memoryCache.image(for: MemoryQuery(job.request), answering: job.request) : nil
        var memory = reservation
        defer { withExtendedLifetime(memory) {} }
        if image == nil, !state.ignoresRendition, let rendition = job.rendition,
            scheduler.canReserve(rendition.pixelByteCount)
        {
            if memory == nil {
                memory = scheduler.reserve(
                    rendition.pixelByteCount,
                    for: id,
                    making: .staleImage,
                    isSlow: false
                ) {
                    self.show(id, original, after: state, reservation: $0)
                }
            }
            guard memory != nil else { return }
            image = renditions.image(of: rendition, options: maker.decodeOptions(job.request))
            if image == nil {
                // Whoever has called this still has the reservation, so that releasing it is not enough.
                memory?.shrink(to: 0)
                memory = nil
            }
        }
        if image == nil, let original {
            let source = FetchedData(stored: original, origin: .disk)
            var state = state
            state.ignoresRendition = true
            do throws(ImageError) {
                let cost = try maker.cost(of: source, for: job, pixelCount: state.pixelCount, makesRendition: false)
                if memory == nil {
                    let isSlow = scheduler.isSlow(source, for: job.request)
                    memory = scheduler.reserve(
                        cost.decoding,
                        for: id,
                        making: .staleImage,
                        isSlow: isSlow
                    ) { [state] in
                        self.show(id, original, after: state, reservation: $0)
                    }
                }
                guard let reservation = memory else { return }
                let decoded = try maker.decode(source, for: job, (reservation, cost.pixelCount)) {
                    graph.job(id) == nil
                }
                reservation.shrink(to: cost.final)
                image = try maker.transform(decoded, for: job.request)
            } catch {
                if let count = error.pixelCount(after: state.pixelCount) {
                    memory?.shrink(to: 0)
                    state.pixelCount = count
                    return show(id, original, after: state)
                }
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
}
