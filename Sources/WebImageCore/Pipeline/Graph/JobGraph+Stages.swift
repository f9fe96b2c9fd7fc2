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
    ///   - mark: When that rendition was read.
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

    /// Ends a look-up that found the image: the job does not need its fetch.
    /// - Returns: The priority of the job; `nil` when bytes arrived first.
    mutating func useRendition(_ id: Job.ID, isStale: Bool = false) -> (priority: ImagePriority, effects: [Effect])? {
        guard let job = jobs[id], case .lookingUp(let fetch, _) = job.phase else { return nil }
        updateJob(id) { ($0.phase, $0.isStale) = (.decoding(nil), isStale) }
        endPreview(of: id)
        updateFetch(fetch) { $0.jobs.removeAll { $0 == id } }
        return (job.priority, leaveFetch(fetch))
    }

    /// Reverts ``useRendition(_:)``: the rendition is damaged, so the bytes are needed after all.
    mutating func discardRendition(_ id: Job.ID) -> [Effect] {
        guard let job = jobs[id], case .decoding = job.phase, let task = job.tasks.first else { return [] }
        let fetch = fetch(job.key.fetch, for: task.request, age: Serial.nextAge(), priority: task.priority)
        updateFetch(fetch) { $0.jobs.append(id) }
        updateJob(id) { ($0.phase, $0.isStale) = (.waiting(fetch), false) }
        return startFetch(fetch) + updatePriority(of: fetch)
    }

    /// Refreshes an image for its next use: after the first of the jobs that show it has ended, or at once if there is none.
    mutating func refresh(_ request: ImageRequest, after jobs: [Job.ID]) -> [Effect] {
        for id in jobs { updateJob(id) { $0.isStale = true } }
        return jobs.isEmpty ? [.refresh(request)] : []
    }

    /// Fetches bytes again that turned out to be incomplete, as after a failed attempt.
    mutating func fetchAgain(_ id: Job.ID, after data: FetchedData, _ error: ImageError) -> [Effect] {
        endPreview(of: id)
        let effects = discardRendition(id)
        guard let fetch = jobs[id]?.fetch, case .lookUpOriginal? = effects.first else { return effects }
        updateFetch(fetch) { fetch in
            fetch.phase = .starting
            fetch.failures = data.failures.earlier
            fetch.attemptStart = data.failures.start
            fetch.attemptCount = fetch.failures.count + 1
        }
        return [.recover(fetch, error)]
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

    /// Keeps an original that the server is to validate.
    /// - Parameter isAnswer: Whether the entry may be used when the server is unreachable. Default: yes.
    mutating func validate(_ entry: CacheEntry, in id: Fetch.ID, isAnswer: Bool = true) {
        guard let fetch = fetches[id] else { return }
        var head = entry
        head.data = Data()
        updateFetch(id) { fetch in
            fetch.validation = .original(head, isAnswer: isAnswer)
            fetch.wantsStreaming = false
        }
        for job in fetch.jobs { endPreview(of: job) }
    }

    /// Makes a fetch read the original that it will use. If that is gone, the loader is asked again for the whole body.
    mutating func readConfirmed(_ id: Fetch.ID, _ confirmation: Confirmation) -> [Effect] {
        guard let fetch = fetches[id] else { return [] }
        // The operation of the attempt is an object of the loader, so it is released while the lock is free.
        releaseLater(fetch)
        updateFetch(id) { fetch in
            (fetch.phase, fetch.validation) = (.lookingUp(nil), .confirmed(confirmation))
        }
        return [.lookUpOriginal(id, fetch.priority)]
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
            (fetch.attemptStart, fetch.mark) = (now, mark)
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

    /// Whether the caches have an image for a fetch that is too old to be used without the server.
    func hasCachedImage(_ id: Fetch.ID) -> Bool {
        if case .none? = fetches[id]?.validation { false } else { fetches[id] != nil }
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

    /// Makes a fetch wait for its next attempt.
    mutating func beginBackoff(_ id: Fetch.ID, after error: ImageError, at now: Date) {
        guard let fetch = fetches[id] else { return }
        // The operation of the attempt is an object of the loader, so it is released while the lock is free.
        releaseLater(fetch)
        updateFetch(id) { fetch in
            fetch.phase = .backingOff
            fetch.failures.append(fetch.attempt(failingWith: error, at: now))
            fetch.attemptStart = nil
            if error.code == .offline { fetch.hasWaitedForNetwork = true }
        }
    }

    /// Asks the loader again, unless the backoff after this attempt has already ended.
    mutating func endBackoff(_ id: Fetch.ID, afterAttempt attempt: Int) -> [Effect] {
        guard let fetch = fetches[id], case .backingOff = fetch.phase, fetch.attemptCount == attempt else { return [] }
        updateFetch(id) { $0.phase = .starting }
        return [.load(id)]
    }

    /// Ends every backoff, because the network is back.
    mutating func endAllBackoffs() -> [Effect] {
        fetches.flatMap { endBackoff($0.key, afterAttempt: $0.value.attemptCount) }
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

    /// Ends a fetch that failed, and the jobs that wait for it.
    /// - Returns: The tasks of these jobs.
    mutating func failFetch(_ id: Fetch.ID) -> [ImageTask] {
        guard let fetch = removeFetch(id) else { return [] }
        // The rendition cache may still answer these jobs. If not, they fetch the bytes again.
        let lookingUp = fetch.jobs.filter { jobs[$0]?.isLookingUp == true }
        if let task = lookingUp.first.flatMap({ jobs[$0]?.tasks.first }),
            let priority = lookingUp.compactMap({ jobs[$0]?.priority }).max()
        {
            let next = Fetch.ID(number: Serial.nextAge())
            insertFetch(next, fetch.key, for: task.request, priority: priority)
            updateFetch(next) { $0.jobs = lookingUp }
            for id in lookingUp {
                updateJob(id) { job in
                    if case .lookingUp(_, let ticket) = job.phase { job.phase = .lookingUp(next, ticket) }
                }
                endPreview(of: id)
            }
        }
        return fetch.jobs.filter { !lookingUp.contains($0) }.flatMap { finishJob($0) }
    }

    /// Mutates the attempt in place: a copy would copy the array of chunks each time.
    @discardableResult
    private mutating func updateAttempt<R>(of id: Fetch.ID, _ body: (inout Fetch.Attempt) -> R) -> R? {
        updateFetch(id) { fetch -> R? in
            guard case .loading(var attempt) = fetch.phase else { return nil }
            fetch.phase = .starting
            defer { fetch.phase = .loading(attempt) }
            return body(&attempt)
        } ?? nil
    }
}

// Helpers of stage 4: partial and stale images.
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
