import FoundationEssentials

/// A helper of stage 4, on the decode queue: partial images while the bytes arrive.
struct ProgressiveStage: PipelineStage {
    /// The number of bytes from which decoding takes long, so that the thumbnail is shown first.
    private static let longHead = 1 << 17
    /// The number of bytes that are searched for a thumbnail.
    private static let longestHead = 1 << 20

    let context: StageContext
    /// Decodes what has arrived for a job, until no bytes are left. Runs on one thread of the decode queue at a time.
    func decode(_ id: JobGraph.Job.ID) {
        while let job = graph.job(id) {
            switch graph.withLock({ $0.updateProgressiveDecoding(of: id) { $0.nextStep() } }) {
            case nil, .rest:
                return
            case .finish(let data):
                decodeStage.submit(id, data, isOnQueue: true)
                return
            case .show(let decoder):
                show(decoder, for: id, job)
            case .feed(let chunks, let decoder):
                if case .none = decoder { showThumbnail(in: chunks, for: id, job) }
                let decoder = feed(chunks, to: decoder, job)
                graph.withLock { $0.setDecoder(decoder, of: id) }
                if case .running(let running) = decoder { show(running, for: id, job) }
            }
        }
    }

    /// Shows the thumbnail first if so much has arrived that decoding takes long.
    private func showThumbnail(in chunks: [Data], for id: JobGraph.Job.ID, _ job: JobGraph.Job) {
        guard chunks.reduce(0, { $0 + $1.count }) >= Self.longHead,
            partialImageStage.wantsThumbnail(job, head: Data(chunks.joined().prefix(ImageFormat.sniffLength)))
        else { return }
        var head = Data()
        for chunk in chunks where head.count < Self.longestHead { head.append(chunk) }
        partialImageStage.showThumbnail(in: head, for: id)
    }

    private func feed(
        _ chunks: [Data],
        to decoder: ProgressiveDecoding.Decoder,
        _ job: JobGraph.Job
    ) -> ProgressiveDecoding.Decoder {
        var decoder = decoder
        if case .none = decoder {
            let head = Data(chunks.joined().prefix(ImageFormat.sniffLength))
            guard let made = maker.makeIncrementalDecoder(for: head, of: job.request) else { return .unavailable }
            decoder = .running(made)
        }
        guard case .running(let running) = decoder else { return decoder }
        do {
            for chunk in chunks { try running.append(chunk) }
        } catch {
            WebImageLog.debug("There are no more partial images: \(error)")
            return .unavailable
        }
        return decoder
    }

    /// Shows what has been decoded, or does so a little later if another partial image was shown just now.
    private func show(_ decoder: BudgetedIncrementalDecoder, for id: JobGraph.Job.ID, _ job: JobGraph.Job) {
        let now = clock.now
        let interval = (job.key.progressiveOptions ?? ProgressiveOptions()).interval
        if case .progressive(let decoding) = job.preview, let pause = decoding.pause(at: now, interval: interval) {
            let isFirst = graph.withLock { $0.updateProgressiveDecoding(of: id) { $0.startTimer() } }
            if isFirst == true {
                clock.run(after: pause) { [weak context] in
                    if let context { ProgressiveStage(context: context).showLater(id) }
                }
            }
            return
        }
        guard let image = decoder.partialImage() else { return }
        partialImageStage.show(image, to: id, job, at: now)
    }

    /// Shows what has arrived since the last partial image.
    private func showLater(_ id: JobGraph.Job.ID) {
        let needsThread = graph.withLock { $0.updateProgressiveDecoding(of: id) { $0.showNow() } } ?? false
        if needsThread { decodeQueue.submit { self.decode(id) } }
    }
}
