import Dispatch
import FoundationEssentials

/// Beside stage 4, on the decode queue: partial images while the bytes arrive.
final class ProgressiveStage: Sendable {
    private let queue: WorkQueue
    private let interval: Duration
    private let observers: Observers<LoadTraceEvent>
    private let graph: SharedGraph
    private let maker: ImageMaker
    private let next: DecodeStage

    init(_ dependencies: Pipeline.Dependencies, graph: SharedGraph, maker: ImageMaker, next: DecodeStage) {
        queue = dependencies.decodeQueue
        interval = dependencies.partialInterval
        observers = dependencies.observers
        self.graph = graph
        self.maker = maker
        self.next = next
    }

    /// Decodes what has arrived for a job, until no bytes are left. Runs on one thread of the decode queue at a time.
    func decode(_ id: JobGraph.Job.ID) {
        while let job = graph.job(id) {
            switch graph.withLock({ $0.updateProgressiveDecoding(of: id) { $0.nextStep() } }) {
            case nil, .rest:
                return
            case .finish(let data):
                next.continueDecoding(id, data)
                return
            case .show(let decoder):
                show(decoder, for: id, job)
            case .feed(let chunks, let decoder):
                let decoder = feed(chunks, to: decoder, job)
                graph.withLock { $0.setDecoder(decoder, of: id) }
                if case .running(let running) = decoder { show(running, for: id, job) }
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

    /// Shows what has been decoded, or a little later when another partial image was shown just now.
    private func show(_ decoder: any IncrementalImageDecoding, for id: JobGraph.Job.ID, _ job: JobGraph.Job) {
        let now = ContinuousClock.now
        if case .progressive(let decoding) = job.preview, let last = decoding.lastPartial, now < last + interval {
            let pause = last + interval - now
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(Int(bounded: pause / .nanoseconds(1)))) {
                self.showLater(id)
            }
            return
        }
        guard let image = decoder.partialImage(), let changed = try? maker.transform(image, for: job.request) else {
            return
        }
        job.tasks.lazy.compactMap(\.request.preparation).first?.prepare(changed)
        let tasks = graph.withLock { graph in
            graph.updateProgressiveDecoding(of: id) { $0.lastPartial = now }
            return graph.jobs[id]?.tasks ?? []
        }
        observers.notify(job.request.url, .partial)
        for task in tasks { task.report(partial: changed) }
    }

    /// Shows what has arrived since the last partial image.
    private func showLater(_ id: JobGraph.Job.ID) {
        let needsThread = graph.withLock { $0.updateProgressiveDecoding(of: id) { $0.showNow() } } ?? false
        if needsThread { queue.submit { self.decode(id) } }
    }
}
