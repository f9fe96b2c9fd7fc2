import FoundationEssentials

// Decodes that fail or are cancelled.
extension DecodeStage {
    func fail(_ id: JobGraph.Job.ID, _ job: JobGraph.Job, _ data: FetchedData, _ error: ImageError) {
        if error.isCancelled, !data.takesLong, graph.job(id) != nil {
            // The other decodes get the threads, and this one starts again on the queue for slow decodes.
            var data = data
            data.takesLong = true
            graph.withLock { $0.updateJob(id) { $0.phase = .decoding(nil) } }
            return submit(id, data)
        }
        WebImageLog.debug("\(error)")
        if job.isForOriginal {
            WebImageLog.debug("The image is not kept on disk: \(error)")
            storeStage.storeOriginal(data, for: job.request, of: job)
            return storeStage.finish(id, job, with: Outcome(result: .failure(error)), of: data)
        }
        if data.loaded.data.isEmpty, data.isConfirmed, let rendition = job.rendition {
            // The rendition that the server has confirmed, or that stands in for it, does not decode.
            ioQueue.submit(priority: .veryLow) { self.renditions.cache?.remove(rendition.key) }
            return graph.update { graph in
                graph.updateJob(id) { $0.rendition = nil }
                return graph.discardRendition(id)
            }
        }
        if let incomplete = data.incompleteness(error) {
            return graph.update { $0.fetchAgain(id, after: data, incomplete) }
        }
        let attempt = ImageError.Attempt(error, of: job.request.url, from: data.failures.start, to: clock.now)
        keepConsequences(of: error, job.request, data)
        let ending = error.ending(attempt, after: data.failures.earlier)
        storeStage.finish(id, job, with: Outcome(result: .failure(ending)), of: data)
    }

    /// Remembers a failure, or keeps the bytes for other requests if only this request fails.
    private func keepConsequences(of error: ImageError, _ request: ImageRequest, _ data: FetchedData) {
        var error = error
        if error.dependsOnRequest, data.format != .unknown { storeStage.storeOriginal(data, for: request) }
        if error.isOfDecoding, request.hasOwnDecoding(of: data.format) { error.dependsOnRequest = true }
        if error.isOfBytes { storeStage.removeUndecodable(data, request) }
        if data.origin == .loader { context.dependencies.recordFailure(error, request) }
    }
}
