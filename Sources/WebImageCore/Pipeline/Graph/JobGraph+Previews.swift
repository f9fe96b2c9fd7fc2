import FoundationEssentials

// What jobs show until their image is there: partial and stale images.
extension JobGraph {
    /// Prepares a job for partial images, if they are of use.
    mutating func startProgressiveDecoding(of id: Job.ID) -> [Effect] {
        guard let job = jobs[id], case .none = job.preview, let fetch = job.fetch.flatMap({ fetches[$0] }) else {
            return []
        }
        // Partial images are of no use if a whole image is shown in the meantime, or after an attempt that broke off.
        guard case .none = fetch.validation, job.rendition == nil, fetch.attemptCount < 2 else { return [] }
        let attempt = fetch.attempt
        guard attempt?.hasDroppedStream != true else { return [] }
        updateJob(id) { $0.preview = .progressive(ProgressiveDecoding(pending: attempt?.chunks ?? [])) }
        guard !fetch.wantsStreaming, let fetchID = job.fetch else { return [] }
        updateFetch(fetchID) { $0.wantsStreaming = true }
        return attempt?.operation.map { [.startStreaming($0)] } ?? []
    }

    /// Keeps bytes for jobs that join later, and passes them to jobs that decode partial images.
    /// - Returns: The jobs that have work but no thread.
    mutating func append(
        _ chunk: Data,
        to id: Fetch.ID,
        _ budget: MemoryBudget
    ) -> [(id: Job.ID, priority: ImagePriority)] {
        guard updateAttempt(of: id, { $0.hasDroppedStream }) == false else { return [] }
        guard !budget.isFullOfBodies else {
            dropStream(of: id)
            return []
        }
        updateAttempt(of: id) { attempt in
            attempt.chunks.append(chunk)
            let streamed = attempt.streamed ?? budget.arrivingBody()
            streamed.byteCount += chunk.count
            attempt.streamed = streamed
        }
        return (fetches[id]?.jobs ?? []).compactMap { job in
            guard updateProgressiveDecoding(of: job, { $0.append(chunk) }) == true else { return nil }
            return (job, jobs[job]?.priority ?? .normal)
        }
    }

    /// Ends the partial images of an attempt. The whole file is decoded later.
    private mutating func dropStream(of id: Fetch.ID) {
        guard let fetch = fetches[id] else { return }
        releaseLater(fetch)
        updateAttempt(of: id) { attempt in
            attempt.hasDroppedStream = true
            attempt.chunks = []
            attempt.streamed = nil
        }
        for job in fetch.jobs { abandonPartialImages(of: job) }
    }

    /// - Returns: `nil` when the job has no partial images.
    @discardableResult
    mutating func updateProgressiveDecoding<R>(of id: Job.ID, _ body: (inout ProgressiveDecoding) -> R) -> R? {
        updateJob(id) { job -> R? in
            guard case .progressive(var decoding) = job.preview else { return nil }
            job.preview = .none
            defer { job.preview = .progressive(decoding) }
            return body(&decoding)
        } ?? nil
    }

    /// - Returns: The jobs with a task that shows stale images.
    mutating func beginStaleImages(of id: Fetch.ID) -> [(id: Job.ID, job: Job)] {
        (fetches[id]?.jobs ?? []).compactMap { id in
            guard let job = jobs[id], job.tasks.contains(where: \.wantsPreview) else { return nil }
            if case .stale = job.preview { return nil }
            updateJob(id) { $0.preview = .stale(.decoding(nil, answer: nil)) }
            return (id, job)
        }
    }

    /// - Returns: The bytes that arrived during the decode of the stale image. They must be decoded now.
    mutating func endStaleImage(_ image: WebImage?, of id: Job.ID) -> FetchedData? {
        guard case .stale(.decoding(_, let answer)) = jobs[id]?.preview else { return nil }
        updateJob(id) { $0.preview = .stale(.decoded(image)) }
        return answer
    }
}
