import FoundationEssentials

// What the stages change. Each does nothing when the job or source has gone in the meantime.
extension JobGraph {
    mutating func setTicket(_ ticket: WorkQueue.Ticket, ofSource id: Identifier) {
        // A read that was quicker than this call has handed over to a loader, or has ended.
        if sources[id]?.operation == nil { sources[id]?.ticket = ticket }
    }

    /// Keeps a copy that the server is to be asked about.
    mutating func setStored(_ entry: CacheEntry, ofSource id: Identifier) {
        sources[id]?.stored = entry
        sources[id]?.wantsData = false
        for job in sources[id]?.jobs ?? [] { jobs[job]?.partial = nil }
    }

    /// Counts a try at a loader. What an earlier one has brought is of no use to partial images.
    /// - Returns: The source as it is now.
    mutating func beginAttempt(ofSource id: Identifier) -> Source? {
        sources[id]?.attempts += 1
        sources[id]?.ticket = nil
        guard let source = sources[id], source.attempts > 1 else { return sources[id] }
        sources[id]?.wantsData = false
        sources[id]?.chunks = []
        for job in source.jobs { jobs[job]?.partial?.abandon() }
        return sources[id]
    }

    /// Lets a source rest until a loader is asked again.
    mutating func beginWaiting(_ id: Identifier, forNetwork: Bool) {
        sources[id]?.operation = nil
        sources[id]?.isWaiting = true
        if forNetwork { sources[id]?.hasWaitedForNetwork = true }
    }

    /// - Parameter attempts: Those before the pause; another number means that the pause is over already.
    /// - Returns: Whether to go on.
    mutating func endWaiting(_ id: Identifier, attempts: Int) -> Bool {
        guard let source = sources[id], source.isWaiting, source.attempts == attempts else { return false }
        sources[id]?.isWaiting = false
        return true
    }

    /// - Returns: What to do with the operation now, which is to drop it when nobody waits for it any more.
    mutating func setOperation(
        _ operation: any FetchOperation,
        ofSource id: Identifier,
        attempt: Int,
        asked: LoaderRequest
    ) -> [Change] {
        guard let source = sources[id] else { return [.dropLoad(operation)] }
        // It has failed within the call that started it.
        guard !source.isWaiting, source.attempts == attempt else { return [] }
        sources[id]?.operation = operation
        sources[id]?.ticket = nil
        var changes: [Change] = []
        if source.wantsData, !asked.wantsData { changes.append(.startStreaming(operation)) }
        if source.priority != asked.priority { changes.append(.prioritizeLoad(operation, source.priority)) }
        return changes
    }

    mutating func setReadTicket(_ ticket: WorkQueue.Ticket, ofJob id: Identifier) {
        // A read that was quicker than this call has handed over to a source or to a decoder.
        if jobs[id]?.isLookingUp == true { jobs[id]?.readTicket = ticket }
    }

    /// When nothing is stored but every job has a result, the server is asked about that. Whoever comes later has none,
    /// and needs a source of its own.
    /// - Returns: What to ask with.
    mutating func useRenditions(ofSource id: Identifier) -> ResponseMetadata.Validators? {
        guard let source = sources[id], source.stored == nil, !source.jobs.isEmpty else { return nil }
        let results = source.jobs.compactMap { jobs[$0]?.isLookingUp == false ? jobs[$0]?.result : nil }
        guard results.count == source.jobs.count, let validators = results.first?.response.validators,
            results.allSatisfy({ $0.response.validators == validators })
        else { return nil }
        sources[id]?.hasRenditionsOnly = true
        if sourcesByKey[source.key] == id { sourcesByKey[source.key] = nil }
        return validators
    }

    func results(ofSource id: Identifier) -> [CacheEntry] {
        (sources[id]?.jobs ?? []).compactMap { jobs[$0]?.result }
    }

    mutating func setTicket(_ ticket: WorkQueue.Ticket, ofJob id: Identifier) {
        jobs[id]?.ticket = ticket
        jobs[id]?.readTicket = nil
    }

    /// Keeps bytes for those who join later, and hands them to the jobs that decode partial images.
    /// - Returns: The jobs that have something to do and are not at it already.
    mutating func append(_ chunk: Data, toSource id: Identifier) -> [(Identifier, ImagePriority)] {
        sources[id]?.chunks.append(chunk)
        return (sources[id]?.jobs ?? []).compactMap { job in
            guard jobs[job]?.partial?.append(chunk) == true else { return nil }
            return (job, jobs[job]?.priority ?? .normal)
        }
    }

    func tasks(ofSource id: Identifier) -> [ImageTask] {
        (sources[id]?.jobs ?? []).flatMap { jobs[$0]?.tasks ?? [] }
    }

    mutating func updatePartial<R>(of id: Identifier, _ body: (inout ProgressiveDecoding) -> R) -> R? {
        guard jobs[id]?.partial != nil else { return nil }
        return body(&jobs[id]!.partial!)
    }

    /// Ends a source that has its bytes; its jobs go on to decode them.
    mutating func finishSource(_ id: Identifier) -> [(Identifier, ImagePriority)] {
        guard let source = removeSource(id) else { return [] }
        for job in source.jobs { jobs[job]?.isLookingUp = false }
        return source.jobs.compactMap { job in jobs[job].map { (job, $0.priority) } }
    }

    /// - Returns: The URL of a source whose first bytes these are.
    mutating func takeFirstBytes(ofSource id: Identifier) -> URL? {
        guard let source = sources[id], !source.hasFirstBytes else { return nil }
        sources[id]?.hasFirstBytes = true
        return source.request.url
    }

    /// Ends a source that failed, with its jobs.
    mutating func failSource(_ id: Identifier) -> [ImageTask] {
        guard let source = removeSource(id) else { return [] }
        // The cache of results may have what these want; if not, they try anew.
        let lookingUp = source.jobs.filter { jobs[$0]?.isLookingUp == true }
        if let task = lookingUp.first.flatMap({ jobs[$0]?.tasks.first }) {
            let again = insertSource(source.key, task)
            sources[again]?.jobs = lookingUp
            for job in lookingUp {
                jobs[job]?.source = again
                jobs[job]?.partial = nil
            }
        }
        return source.jobs.filter { !lookingUp.contains($0) }.flatMap { finishJob($0) }
    }

    /// Ends a job.
    /// - Returns: The tasks that waited for it.
    mutating func finishJob(_ id: Identifier) -> [ImageTask] {
        guard let job = removeJob(id) else { return [] }
        for task in job.tasks { jobsByTask[ObjectIdentifier(task)] = nil }
        return job.tasks
    }

    mutating func removeJob(_ id: Identifier) -> Job? {
        guard let job = jobs.removeValue(forKey: id) else { return nil }
        jobsByKey[job.key] = nil
        if let source = job.source { sources[source]?.jobs.removeAll { $0 == id } }
        return job
    }

    @discardableResult
    mutating func removeSource(_ id: Identifier) -> Source? {
        guard let source = sources.removeValue(forKey: id) else { return nil }
        if sourcesByKey[source.key] == id { sourcesByKey[source.key] = nil }
        return source
    }
}
