import FoundationEssentials

// Stages 2 and 3: jobs and fetches that wait for the disk.
extension JobGraph {
    /// A job or a fetch that waits for the disk.
    enum LookUp: Hashable, Sendable {
        case rendition(Job.ID)
        case original(Fetch.ID)
    }

    /// The jobs and fetches that wait for the disk, apart from jobs that wait for a file.
    var lookUps: Set<LookUp> {
        let waiting = jobs.lazy.filter { $0.value.isLookingUp && !$0.value.isConfirming }
        return Set(waiting.map { .rendition($0.key) }).union(
            fetches.lazy.compactMap { if case .lookingUp = $0.value.phase { .original($0.key) } else { nil } }
        )
    }

    func request(of lookUp: LookUp) -> ImageRequest? {
        switch lookUp {
        case .rendition(let id): jobs[id]?.request
        case .original(let id): fetches[id]?.request
        }
    }

    /// Keeps the ticket of a read.
    /// - Returns: The priority of the job or fetch; `nil` if a read that has ended has passed it on.
    mutating func setReadTicket(_ ticket: WorkQueue.Ticket, of lookUp: LookUp) -> ImagePriority? {
        switch lookUp {
        case .rendition(let id):
            guard let job = jobs[id], case .lookingUp(let fetch, _) = job.phase else { return nil }
            updateJob(id) { $0.phase = .lookingUp(fetch, ticket) }
            return job.priority
        case .original(let id):
            guard let fetch = fetches[id], case .lookingUp = fetch.phase else { return nil }
            updateFetch(id) { $0.phase = .lookingUp(ticket) }
            return fetch.priority
        }
    }
}

// Stage 2: jobs that look for a rendition.
extension JobGraph {
    /// Ends a look-up that found nothing to show unchanged: the job needs bytes.
    /// - Parameters:
    ///   - rendition: The rendition that the server is to validate.
    ///   - mark: When the look-up began.
    mutating func endLookUp(
        _ id: Job.ID,
        rendition: CacheEntry?,
        mark: ImageVersions.Mark? = nil
    ) -> [Effect] {
        guard case .lookingUp(let fetch, _) = jobs[id]?.phase else { return [] }
        updateJob(id) { job in
            job.phase = .waiting(fetch)
            job.rendition = rendition
            job.renditionMark = mark
        }
        if rendition != nil { endPreview(of: id) }
        return startFetch(fetch)
    }

    /// Starts a fetch that is still pending.
    mutating func startFetch(_ id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id], case .pending = fetch.phase else { return [] }
        updateFetch(id) { $0.phase = .lookingUp(nil) }
        return [.lookUpOriginal(id, fetch.priority)]
    }
}

// Stage 3: fetches that look for the original on disk.
extension JobGraph {
    /// Ends a look-up of an original, and forgets why it was read again.
    /// - Returns: The fetch as it was; `nil` if the look-up has already ended, because the disk took too long.
    mutating func endLookUp(_ id: Fetch.ID) -> Fetch? {
        guard let fetch = fetches[id], case .lookingUp = fetch.phase else { return nil }
        updateFetch(id) { ($0.phase, $0.validation) = (.starting, .none) }
        return fetch
    }

    /// Makes a fetch wait for memory, so that the wait is not blamed on the disk.
    /// - Returns: `false` if the look-up has already ended.
    mutating func waitForRoom(_ id: Fetch.ID) -> Bool {
        guard case .lookingUp = fetches[id]?.phase else { return false }
        updateFetch(id) { $0.phase = .waitingForRoom }
        return true
    }

    /// Makes a fetch look up its original again.
    mutating func endWaitForRoom(_ id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id], case .waitingForRoom = fetch.phase else { return [] }
        updateFetch(id) { $0.phase = .lookingUp(nil) }
        return [.lookUpOriginal(id, fetch.priority)]
    }

    /// Whether all jobs of a fetch need the bytes.
    func isNeededByAll(_ id: Fetch.ID) -> Bool {
        fetches[id]?.jobs.allSatisfy { jobs[$0]?.isLookingUp == false } ?? false
    }
}

// Stage 4: fetches at their loader.
extension JobGraph {
    /// Counts an attempt. From the second attempt on there are no partial images.
    /// - Returns: The updated fetch, and the validators of a cached copy for a conditional request.
    mutating func beginAttempt(
        _ id: Fetch.ID,
        at now: Date,
        mark: ImageVersions.Mark? = nil,
        isConditional: Bool = true
    ) -> (fetch: Fetch, validators: ResponseMetadata.Validators?)? {
        guard let old = fetches[id] else { return nil }
        // The previous attempt asked about another version. Its operation is an object of the loader.
        if !isConditional { releaseLater(old) }
        updateFetch(id) { fetch in
            fetch.attemptCount += 1
            (fetch.attemptStart, fetch.mark) = (now, fetch.mark ?? mark)
            fetch.phase = .loading(Fetch.Attempt())
            if fetch.attemptCount > 1 { fetch.wantsStreaming = false }
        }
        let validators =
            isConditional ? fetches[id]?.storedOriginal?.response.validators ?? validateRenditions(of: id) : nil
        guard let fetch = fetches[id] else { return nil }
        for job in fetch.jobs where fetch.attemptCount > 1 { abandonPartialImages(of: job) }
        return (fetch, validators)
    }

    /// Without an original, the server can validate the renditions if every job has one. Jobs and readers that join
    /// later have none and get another fetch.
    private mutating func validateRenditions(of id: Fetch.ID) -> ResponseMetadata.Validators? {
        guard let fetch = fetches[id], fetch.storedOriginal == nil, !fetch.jobs.isEmpty, fetch.readers.isEmpty else {
            return nil
        }
        let renditions = fetch.jobs.compactMap { jobs[$0].flatMap { $0.isLookingUp ? nil : $0.rendition } }
        guard renditions.count == fetch.jobs.count, let validators = renditions.first?.response.validators,
            renditions.allSatisfy({ $0.response.validators.areSame(as: validators) })
        else { return nil }
        updateFetch(id) { $0.validation = .renditions }
        closeFetch(id)
        return validators
    }

    /// Keeps the operation that the loader has returned.
    /// - Parameter request: The request that the loader received. The fetch may need something else by now.
    mutating func setOperation(
        _ operation: any FetchOperation,
        of id: Fetch.ID,
        attempt: Int,
        request: LoaderRequest
    ) -> [Effect] {
        guard let fetch = fetches[id] else { return [.cancelLoad(operation)] }
        // The attempt may have failed within the call that started it.
        guard fetch.attemptCount == attempt, case .loading = fetch.phase else { return [] }
        updateAttempt(of: id) { $0.operation = operation }
        var effects: [Effect] = []
        if fetch.wantsStreaming, !request.wantsData { effects.append(.startStreaming(operation)) }
        if fetch.priority != request.priority { effects.append(.prioritizeLoad(operation, fetch.priority)) }
        return effects
    }

    /// - Returns: The URL, if these are the first bytes of an attempt.
    mutating func takeFirstBytes(of id: Fetch.ID) -> URL? {
        let isFirst = updateAttempt(of: id) { attempt in
            defer { attempt.hasFirstBytes = true }
            return !attempt.hasFirstBytes
        }
        return isFirst == true ? fetches[id]?.request.url : nil
    }

    /// Keeps the progress that a loader reports, if partial images need it.
    mutating func setProgress(_ received: Int64, _ expected: Int64?, of id: Fetch.ID) {
        guard fetches[id]?.wantsStreaming == true else { return }
        updateAttempt(of: id) { $0.progress = (received, expected) }
    }

    /// How much of the file of a job has arrived, from 0 to 1; 1 once the loader has ended.
    func arrivedShare(of id: Job.ID, pixelCount: Int) -> Double {
        let attempt = jobs[id]?.fetch.flatMap { fetches[$0]?.attempt }
        return attempt?.arrivedShare(pixelCount: pixelCount) ?? 1
    }

    func tasks(of id: Fetch.ID) -> [ImageTask] {
        (fetches[id]?.jobs ?? []).flatMap { jobs[$0]?.tasks ?? [] }
    }

    /// The renditions of a fetch, each with the time at which it was read.
    func renditions(of id: Fetch.ID) -> [(entry: CacheEntry, mark: ImageVersions.Mark?)] {
        (fetches[id]?.jobs ?? []).compactMap { id in
            jobs[id].flatMap { job in job.rendition.map { ($0, job.renditionMark) } }
        }
    }

    /// Ends a fetch that has its bytes. Its jobs decode them.
    mutating func finishFetch(_ id: Fetch.ID) -> [(id: Job.ID, priority: ImagePriority, wantsThumbnail: Bool)] {
        guard let fetch = removeFetch(id) else { return [] }
        return fetch.jobs.compactMap { job in
            updateJob(job) { job in
                job.phase = .decoding(nil)
                return (job.priority, job.wantsThumbnail)
            }.map { (job, $0.0, $0.1) }
        }
    }

    /// Mutates the attempt in place: a copy would copy the array of chunks each time.
    @discardableResult
    mutating func updateAttempt<R>(of id: Fetch.ID, _ body: (inout Fetch.Attempt) -> R) -> R? {
        updateFetch(id) { fetch -> R? in
            guard case .loading(var attempt) = fetch.phase else { return nil }
            fetch.phase = .starting
            defer { fetch.phase = .loading(attempt) }
            return body(&attempt)
        } ?? nil
    }
}

// Stage 5: jobs that are decoded.
extension JobGraph {
    /// Leaves the bytes to the thread that decodes the stale or a partial image of a job.
    /// - Returns: `false` if there is no such thread.
    mutating func handOver(_ data: FetchedData, to id: Job.ID) -> Bool {
        switch jobs[id]?.preview {
        case .stale(.decoding(let ticket, _))?:
            updateJob(id) { $0.preview = .stale(.decoding(ticket, answer: data)) }
            return true
        case .progressive?:
            return updateProgressiveDecoding(of: id) { $0.end(with: data) } == false
        case .stale(.decoded)?, .some(.none), nil:
            return false
        }
    }

    /// Keeps the ticket of a decode.
    /// - Parameters:
    ///   - product: The result of the decode.
    ///   - isNext: Whether the ticket may replace the current ticket of the job.
    /// - Returns: The priority of the job; `nil` if the job no longer makes that product.
    @discardableResult
    mutating func setDecodeTicket(
        _ ticket: WorkQueue.Ticket,
        of id: Job.ID,
        making product: Job.Product,
        where isNext: (WorkQueue.Ticket?) -> Bool = { _ in true }
    ) -> ImagePriority? {
        updateJob(id) { job -> ImagePriority? in
            switch (product, job.preview, job.phase) {
            case (.staleImage, .stale(.decoding(let last, let answer)), _):
                if isNext(last) { job.preview = .stale(.decoding(ticket, answer: answer)) }
            case (.image, _, .decoding(let last)):
                if isNext(last) { job.phase = .decoding(ticket) }
            case (.staleImage, _, _), (.image, _, _):
                return nil
            }
            return job.priority
        } ?? nil
    }
}
