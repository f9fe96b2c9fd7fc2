import FoundationEssentials
import Synchronization

// Beside the third stage: the cached image, shown until the server has said whether it is still the right one.
extension ImageManager {
    func preview(_ id: JobGraph.Identifier, _ entry: CacheEntry?) {
        for (job, priority) in graph.withLock({ $0.beginPreviews(ofSource: id) }) {
            let ticket = parts.decodeQueue.submit(priority: priority) { self.decodePreview(job, entry) }
            graph.withLock { $0.setTicket(ticket, ofJob: job) }
        }
    }

    private func decodePreview(_ id: JobGraph.Identifier, _ entry: CacheEntry?) {
        guard let job = graph.withLock({ $0.jobs[id] }) else { return }
        let image =
            cachedImage(prepared: job.request) ?? job.result.flatMap { self.image(of: $0, job.request) }
            ?? decoded(entry, job)
        if let image {
            for task in graph.withLock({ $0.jobs[id]?.tasks ?? [] }) where task.wantsPreview {
                task.report(partial: image)
            }
        }
        // The answer may have come meanwhile.
        if let answer = graph.withLock({ $0.endPreview(of: id, image) }) { decodeWhole(id, answer) }
    }

    private func decoded(_ entry: CacheEntry?, _ job: JobGraph.Job) -> WebImage? {
        guard let entry else { return nil }
        do {
            return try transformed(try decodedImage(job, FetchedData(stored: entry, origin: .disk)), job.request)
        } catch {
            WebImageLog.debug("No preview: \(error)")
            return nil
        }
    }
}

extension JobGraph {
    /// - Returns: The jobs somebody wants to see something of.
    fileprivate mutating func beginPreviews(ofSource id: Identifier) -> [(Identifier, ImagePriority)] {
        (sources[id]?.jobs ?? []).compactMap { job in
            guard jobs[job]?.tasks.contains(where: \.wantsPreview) == true else { return nil }
            jobs[job]?.isPreviewing = true
            return (job, jobs[job]?.priority ?? .normal)
        }
    }

    /// - Returns: What is to be decoded now.
    fileprivate mutating func endPreview(of id: Identifier, _ image: WebImage?) -> FetchedData? {
        jobs[id]?.preview = image
        jobs[id]?.isPreviewing = false
        return jobs[id]?.afterPreview
    }

    /// Leaves an answer for the thread that decodes the preview, if there is one.
    mutating func leaveAfterPreview(_ source: FetchedData, _ id: Identifier) -> Bool {
        guard jobs[id]?.isPreviewing == true else { return false }
        jobs[id]?.afterPreview = source
        return true
    }
}
