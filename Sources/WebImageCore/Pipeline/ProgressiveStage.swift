import Dispatch
import FoundationEssentials
import Synchronization

// Beside the third stage: partial images while the bytes arrive, on the decode queue.
extension ImageManager {
    /// Decodes what has come for a job, until there is nothing left to do.
    func decodePartial(_ id: JobGraph.Identifier) {
        while let job = graph.withLock({ $0.jobs[id] }) {
            switch graph.withLock({ $0.updatePartial(of: id) { $0.nextStep() } }) {
            case nil, .rest:
                return
            case .end(let source):
                decodeWhole(id, source)
                return
            case .show(let decoder):
                showPartial(of: decoder, id, job)
            case .feed(let chunks, let decoder):
                let decoder = feed(chunks, to: decoder, job)
                _ = graph.withLock { $0.updatePartial(of: id) { $0.setDecoder(decoder) } }
                if case .running(let running) = decoder { showPartial(of: running, id, job) }
            }
        }
    }

    private func feed(
        _ chunks: [Data],
        to decoder: ProgressiveDecoding.Decoder,
        _ job: JobGraph.Job
    ) -> ProgressiveDecoding.Decoder {
        var decoder = decoder
        if case .none = decoder {
            let head = Data(chunks.joined().prefix(ImageFormat.sniffLength))
            let format = ImageFormat(sniffing: head, hint: job.request.formatHint)
            let options = decodeOptions(job.request)
            let coder = try? parts.coders.decoder(
                for: head,
                url: job.request.url,
                hint: job.request.formatHint,
                preferring: job.request.decoder
            )
            guard let made = coder?.makeIncrementalDecoder(for: format, options: options)
            else {
                return .unavailable
            }
            decoder = .running(made)
        }
        guard case .running(let running) = decoder else { return decoder }
        do {
            for chunk in chunks { try running.append(chunk) }
        } catch {
            WebImageLog.debug("No partial images: \(error)")
            return .unavailable
        }
        return decoder
    }

    /// Shows what can be seen, unless the last partial image was shown just now; then a little later.
    private func showPartial(of decoder: any IncrementalImageDecoding, _ id: JobGraph.Identifier, _ job: JobGraph.Job) {
        let now = ContinuousClock.now
        if let last = job.partial?.lastPartial, now < last + parts.partialInterval {
            let pause = last + parts.partialInterval - now
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(pause / .nanoseconds(1)))) {
                self.showLater(id)
            }
            return
        }
        guard let image = decoder.partialImage(), let changed = try? transformed(image, job.request) else { return }
        job.tasks.lazy.compactMap(\.request.preparation).first?.prepare(changed)
        let tasks = graph.withLock { graph in
            _ = graph.updatePartial(of: id) { $0.lastPartial = now }
            return graph.jobs[id]?.tasks ?? []
        }
        parts.observers.tell(job.request.url, .partial)
        for task in tasks { task.report(partial: changed) }
    }

    /// Sees that what came since the last partial image is shown.
    private func showLater(_ id: JobGraph.Identifier) {
        let isIdle = graph.withLock { $0.updatePartial(of: id) { $0.showNow() } } ?? false
        if isIdle { parts.decodeQueue.submit { self.decodePartial(id) } }
    }
}
