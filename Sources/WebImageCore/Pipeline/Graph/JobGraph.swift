import FoundationEssentials

/// The graph of who waits for what: tasks wait for jobs, jobs wait for fetches. Tasks that want only bytes wait for fetches.
///
/// A fetch gets the bytes of a URL, once for all sizes. A job decodes them, once for all tasks that want the same image
/// at the same size. The graph is a plain value behind one lock, which is held for a few dictionary operations; it calls
/// nothing. Its mutations return effects, which the pipeline applies once the lock is free.
///
/// Every mutation does nothing when its job or fetch is gone, because another thread may have cancelled it.
struct JobGraph: Sendable {
    /// A decode that tasks share.
    struct Job: Sendable {
        struct ID: Hashable, Sendable {
            /// The age as well: of two loads, that with the smaller number was asked for first.
            let number: UInt64
        }

        /// What the job is doing. A ticket is `nil` until the work is in its queue.
        enum Phase: Sendable {
            /// The rendition cache is being read. Bytes of the fetch that arrive first serve as well.
            case lookingUp(Fetch.ID, WorkQueue.Ticket?)
            /// The job waits for the bytes of a fetch.
            case waiting(Fetch.ID)
            /// The image is being decoded, from the bytes of a fetch that has ended or from a rendition.
            case decoding(WorkQueue.Ticket?)
        }

        /// What a decode of the job makes. There is one decode of each at a time, and a stale image that has ended can be on
        /// its thread still while the image is decoded.
        enum Product: Sendable {
            /// The image that is shown until the server has answered.
            case staleImage
            case image
        }

        /// What can be shown before the image is complete. The two never apply to the same job: partial images are not
        /// worth decoding while a complete image shows. They are indirect because few jobs have one, while the compiler writes out
        /// the copying of every value within, again for each type that holds a job.
        enum Preview: Sendable {
            case none
            /// Partial images of the bytes that have arrived.
            indirect case progressive(ProgressiveDecoding)
            /// The cached image, shown until the server has answered.
            indirect case stale(StaleImage)
        }

        let key: Key
        let request: ImageRequest
        var tasks: [ImageTask]
        var priority: ImagePriority
        var phase: Phase
        var preview = Preview.none
        /// The rendition that the server is asked about.
        var rendition: CacheEntry?
        /// When that was read.
        var renditionMark: ImageVersions.Mark?
        /// Whether a rendition was found, and its file is asked whether it has changed.
        var isConfirming = false
        /// Whether the image is stale, and loaded again for its next use once the job has ended.
        var isStale = false

        /// Whether the whole image is decoded for what the disk cache keeps: see ``OriginalStore``.
        var isForOriginal: Bool { tasks.isEmpty }

        /// The fetch that the job waits for.
        var fetch: Fetch.ID? {
            switch phase {
            case .lookingUp(let fetch, _), .waiting(let fetch): fetch
            case .decoding: nil
            }
        }

        /// Whether the thumbnail in the file can be shown: partial images are wanted, and none was shown.
        var wantsThumbnail: Bool {
            if case .progressive(let decoding) = preview {
                decoding.lastPartial == nil && !decoding.hasThumbnail
            } else {
                false
            }
        }

        var isLookingUp: Bool {
            if case .lookingUp = phase { true } else { false }
        }

        /// The work of this job in the decode queue.
        var decodeTicket: WorkQueue.Ticket? {
            if case .decoding(let ticket?) = phase { return ticket }
            if case .stale(.decoding(let ticket, _)) = preview { return ticket }
            return nil
        }
    }

    /// The stale image of a job, from the start of its decoding on.
    enum StaleImage: Sendable {
        /// The image is being decoded; `answer` holds the bytes that arrived in the meantime.
        case decoding(WorkQueue.Ticket?, answer: FetchedData?)
        /// The image, `nil` when it could not be decoded. The memory cache does not keep it before the server has
        /// confirmed it.
        case decoded(WebImage?)
    }

    /// The getting of bytes that jobs share.
    struct Fetch: Sendable {
        struct ID: Hashable, Sendable {
            /// The age as well: of two loads, that with the smaller number was asked for first.
            let number: UInt64
        }

        /// What the fetch is doing.
        enum Phase: Sendable {
            /// No job needs the bytes yet: the rendition cache may have what all of them want.
            case pending
            /// The disk cache is being read.
            case lookingUp(WorkQueue.Ticket?)
            /// The bytes that are not decoded yet leave no room for those on the disk.
            case waitingForRoom
            /// The loader is about to be called again.
            case starting
            /// The loader is at work.
            case loading(Attempt)
            /// The fetch waits until the loader is asked again.
            case backingOff
        }

        /// One try at the loader. The next one starts from nothing.
        struct Attempt: Sendable {
            /// `nil` until the loader has returned.
            var operation: (any FetchOperation)?
            var hasFirstBytes = false
            /// The bytes so far, while they are streamed: jobs that join later decode them, too.
            var chunks: [Data] = []
            /// The bytes that the loader has told of, and of how many.
            var progress: (received: Int64, expected: Int64?) = (0, nil)
            /// Counts these bytes.
            var streamed: MemoryBudget.Reservation?
            /// Whether there was no memory for them, so that the attempt makes no partial images any more.
            var hasDroppedStream = false
        }

        /// The cached copy that the server is asked about.
        enum Validation: Sendable {
            case none
            /// The entry is without its bytes, which would take memory for as long as the server needs.
            indirect case original(CacheEntry, isAnswer: Bool)
            /// There is no original, but every job has a rendition.
            case renditions
        }

        let key: Key
        let request: ImageRequest
        var jobs: [Job.ID] = []
        /// The tasks that want the bytes.
        var readers: [DataTask] = []
        var priority: ImagePriority
        var phase = Phase.pending
        var validation = Validation.none
        /// Whether a job decodes partial images, so that the loader hands out the bytes as they arrive.
        var wantsStreaming = false
        /// The number of attempts so far.
        var attemptCount = 0
        /// When the attempt has begun that is under way or has brought the bytes.
        var attemptStart: Date?
        /// The attempts that have failed, after each of which there was another one.
        var failures: [ImageError.Attempt] = []
        /// Whether the fetch has backed off because the machine was offline, which it does once.
        var hasWaitedForNetwork = false

        /// Whether anybody waits for the bytes.
        var isWanted: Bool { !jobs.isEmpty || !readers.isEmpty }

        var attempt: Attempt? {
            if case .loading(let attempt) = phase { attempt } else { nil }
        }

        /// Whether the loader is at work.
        var isLoading: Bool {
            if case .loading = phase { true } else { false }
        }

        /// The attempt that fails now.
        func attempt(failingWith error: ImageError, at now: Date) -> ImageError.Attempt {
            ImageError.Attempt(error, of: request.url, from: attemptStart, to: now)
        }

        /// The error that ends the fetch, with all that was tried.
        func ending(with error: ImageError, at now: Date) -> ImageError {
            error.ending(attempt(failingWith: error, at: now), after: failures)
        }

        /// The original that the server is asked about, without its bytes.
        var storedOriginal: CacheEntry? {
            if case .original(let entry, _) = validation { entry } else { nil }
        }

        /// The same, if it may serve when the server cannot be asked.
        var usableOriginal: CacheEntry? {
            if case .original(let entry, isAnswer: true) = validation { entry } else { nil }
        }
    }

    /// What has to be done after a mutation.
    enum Effect: Sendable {
        /// Stage 2 reads the rendition cache for a job.
        case lookUpRendition(Job.ID, ImagePriority)
        /// Stage 3 reads the disk cache for a fetch, or passes it on to its loader.
        case lookUpOriginal(Fetch.ID, ImagePriority)
        /// Stage 3 reads the original again that the server was asked about.
        case readConfirmed(Fetch.ID, Confirmation, ImagePriority)
        /// Stage 4 asks the loader again.
        case load(Fetch.ID)
        /// An attempt has failed although the loader has ended.
        case recover(Fetch.ID, ImageError)
        /// A cached image is due to be renewed in the background.
        case refresh(ImageRequest)
        case startStreaming(any FetchOperation)
        case prioritizeRead(WorkQueue.Ticket, ImagePriority)
        case prioritizeLoad(any FetchOperation, ImagePriority)
        case prioritizeDecode(WorkQueue.Ticket, ImagePriority)
        case cancelRead(WorkQueue.Ticket)
        case cancelDecode(WorkQueue.Ticket)
        case cancelLoad(any FetchOperation)
        /// Nobody waits for this load any more. It is cancelled unless it is nearly complete.
        case abandonLoad(Fetch.ID, any FetchOperation)
    }

    private(set) var jobs: [Job.ID: Job] = [:]
    private(set) var fetches: [Fetch.ID: Fetch] = [:]
    /// The number of jobs of each priority, by its rank.
    private var jobCounts = Array(repeating: 0, count: ImagePriority.allCases.count)
    private var jobsByKey: [Job.Key: Job.ID] = [:]
    private var fetchesByKey: [Fetch.Key: Fetch.ID] = [:]
    private var jobsByTask: [ObjectIdentifier: Job.ID] = [:]
    var fetchesByReader: [ObjectIdentifier: Fetch.ID] = [:]
    private var removals = Removals()
    /// The effects of previews and jobs that have ended.
    private var endings: [Effect] = []
}

// Joining, cancelling and priorities.
extension JobGraph {
    /// Adds a task to the job of its image, and makes that job and its fetch where there are none.
    /// - Parameters:
    ///   - age: The age of the load, which no other has.
    ///   - queriesRenditions: Whether the rendition cache is read before the bytes are fetched.
    mutating func join(_ task: ImageTask, age: UInt64 = Serial.nextAge(), queriesRenditions: Bool) -> [Effect] {
        let key = Job.Key(task.request)
        var effects: [Effect] = []
        let id: Job.ID
        if let running = jobsByKey[key] {
            id = running
            jobs[id]?.tasks.append(task)
        } else {
            id = Job.ID(number: age)
            // Asked once, since another thread may change it meanwhile.
            let priority = task.priority
            let fetch = fetch(key.fetch, for: task.request, age: age, priority: priority)
            jobs[id] = Job(
                key: key,
                request: task.request,
                tasks: [task],
                priority: priority,
                phase: queriesRenditions ? .lookingUp(fetch, nil) : .waiting(fetch)
            )
            jobsByKey[key] = id
            jobCounts[priority.rank] += 1
            fetches[fetch]?.jobs.append(id)
            effects = queriesRenditions ? [.lookUpRendition(id, priority)] : startFetch(fetch)
        }
        jobsByTask[ObjectIdentifier(task)] = id
        if task.wantsPartialImages { effects += startProgressiveDecoding(of: id) }
        effects += updatePriority(of: id)
        return effects
    }

    /// Adds a job that decodes bytes for the disk cache. No task waits for it, nor joins it.
    /// - Parameter key: The key of the job that has the bytes. Nothing is stored under it, since there are no tasks.
    mutating func addJob(decoding request: ImageRequest, key: Job.Key) -> Job.ID {
        let id = Job.ID(number: Serial.nextAge())
        jobs[id] = Job(key: key, request: request, tasks: [], priority: .low, phase: .decoding(nil))
        jobCounts[ImagePriority.low.rank] += 1
        return id
    }

    /// Whether a task would join a job or a fetch that is there.
    func shares(_ request: ImageRequest) -> Bool {
        let key = Job.Key(request)
        return jobsByKey[key] != nil || fetchesByKey[key.fetch] != nil
    }

    /// The number of jobs that are at least as urgent as a priority.
    func jobCount(from priority: ImagePriority) -> Int {
        // Asked for each load, so that it makes no slice.
        var count = 0
        for rank in priority.rank..<jobCounts.count { count += jobCounts[rank] }
        return count
    }

    /// Removes a task, and with the last one its job and fetch.
    mutating func cancel(_ task: ObjectIdentifier) -> [Effect] {
        if let id = fetchesByReader.removeValue(forKey: task) {
            updateFetch(id) { $0.readers.removeAll { ObjectIdentifier($0) == task } }
            return leaveFetch(id)
        }
        guard let id = jobsByTask.removeValue(forKey: task) else { return [] }
        jobs[id]?.tasks.removeAll { ObjectIdentifier($0) == task }
        guard jobs[id]?.tasks.isEmpty == true else { return updatePriority(of: id) }
        guard let job = removeJob(id) else { return [] }
        var effects: [Effect] = []
        if case .lookingUp(_, let ticket?) = job.phase { effects.append(.cancelRead(ticket)) }
        if let ticket = job.decodeTicket { effects.append(.cancelDecode(ticket)) }
        if let fetch = job.fetch { effects += leaveFetch(fetch) }
        return effects
    }

    /// Ends a fetch that lost a job or a reader, unless others wait for it.
    mutating func leaveFetch(_ id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id] else { return [] }
        guard !fetch.isWanted else { return updatePriority(of: id) }
        if let operation = fetch.attempt?.operation { return [.abandonLoad(id, operation)] }
        removeFetch(id)
        if case .lookingUp(let ticket?) = fetch.phase { return [.cancelRead(ticket)] }
        return []
    }

    /// Ends an abandoned fetch, unless somebody has joined it in the meantime.
    mutating func cancelAbandonedFetch(_ id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id], !fetch.isWanted else { return [] }
        removeFetch(id)
        return fetch.attempt?.operation.map { [.cancelLoad($0)] } ?? []
    }

    /// Updates a job to the highest priority of its tasks, and its fetch to the highest of its jobs.
    mutating func updatePriority(of task: ObjectIdentifier) -> [Effect] {
        jobsByTask[task].map { updatePriority(of: $0) } ?? fetchesByReader[task].map { updatePriority(of: $0) } ?? []
    }

    private mutating func updatePriority(of id: Job.ID) -> [Effect] {
        guard let job = jobs[id], let highest = job.tasks.map(\.priority).max() else { return [] }
        var effects: [Effect] = []
        if highest != job.priority {
            jobs[id]?.priority = highest
            jobCounts[job.priority.rank] -= 1
            jobCounts[highest.rank] += 1
            if case .lookingUp(_, let ticket?) = job.phase { effects.append(.prioritizeRead(ticket, highest)) }
            if let ticket = job.decodeTicket { effects.append(.prioritizeDecode(ticket, highest)) }
        }
        if let fetch = job.fetch { effects += updatePriority(of: fetch) }
        return effects
    }

    mutating func updatePriority(of id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id] else { return [] }
        var highest = fetch.jobs.compactMap { jobs[$0]?.priority }.max()
        // Most fetches have no readers.
        if let reader = fetch.readers.lazy.map(\.priority).max() { highest = max(highest ?? reader, reader) }
        guard let highest, highest != fetch.priority else { return [] }
        fetches[id]?.priority = highest
        switch fetch.phase {
        case .loading(let attempt): return attempt.operation.map { [.prioritizeLoad($0, highest)] } ?? []
        case .lookingUp(let ticket?): return [.prioritizeRead(ticket, highest)]
        case .lookingUp(nil), .waitingForRoom, .pending, .starting, .backingOff: return []
        }
    }
}

// The tables, for the other files of the graph.
extension JobGraph {
    mutating func insertFetch(_ id: Fetch.ID, _ key: Fetch.Key, for request: ImageRequest, priority: ImagePriority) {
        fetches[id] = Fetch(key: key, request: request, priority: priority)
        fetchesByKey[key] = id
    }

    /// The fetch that jobs and readers with this key share, made where there is none.
    mutating func fetch(_ key: Fetch.Key, for request: ImageRequest, age: UInt64, priority: ImagePriority) -> Fetch.ID {
        if let running = fetchesByKey[key] { return running }
        let id = Fetch.ID(number: age)
        insertFetch(id, key, for: request, priority: priority)
        return id
    }

    /// Keeps later jobs and readers from joining a fetch.
    mutating func closeFetch(_ id: Fetch.ID) {
        guard let key = fetches[id]?.key, fetchesByKey[key] == id else { return }
        fetchesByKey[key] = nil
    }

    @discardableResult
    mutating func removeFetch(_ id: Fetch.ID) -> Fetch? {
        closeFetch(id)
        guard let fetch = fetches.removeValue(forKey: id) else { return nil }
        releaseLater(fetch)
        return fetch
    }

    /// Keeps what is about to be replaced until the lock is free.
    mutating func releaseLater(_ fetch: Fetch) {
        removals.add(fetch)
    }

    /// Ends what a job shows before its image, which is released once the lock is free. What waits to be decoded for it is
    /// cancelled then, too: see ``takeEndings()``.
    mutating func endPreview(of id: Job.ID) {
        guard let preview = jobs[id]?.preview else { return }
        if case .stale(.decoding(let ticket?, _)) = preview { endings.append(.cancelDecode(ticket)) }
        removals.add(preview)
        jobs[id]?.preview = .none
    }

    /// Ends the partial images of a job for good.
    mutating func abandonPartialImages(of id: Job.ID) {
        if let decoder = updateProgressiveDecoding(of: id, { $0.abandon() }) { removals.add(decoder) }
    }

    /// Keeps the decoder of a job's partial images.
    mutating func setDecoder(_ decoder: ProgressiveDecoding.Decoder, of id: Job.ID) {
        if let old = updateProgressiveDecoding(of: id, { $0.setDecoder(decoder) }) { removals.add(old) }
    }

    /// Hands out the decoders among what has been removed, before takeRemovals(); `nil` when there are none.
    mutating func takeDecoders() -> DecoderDisposal? { removals.takeDecoders() }

    /// Hands out the effects of the previews and jobs that have ended since the last call.
    mutating func takeEndings() -> [Effect] {
        endings.isEmpty ? [] : exchange(&endings, with: [])
    }

    /// Hands out what has been removed since the last call.
    mutating func takeRemovals() -> Removals {
        exchange(&removals, with: Removals())
    }

    mutating func removeJob(_ id: Job.ID) -> Job? {
        guard var job = jobs.removeValue(forKey: id) else { return nil }
        if jobsByKey[job.key] == id { jobsByKey[job.key] = nil }
        jobCounts[job.priority.rank] -= 1
        if let fetch = job.fetch { fetches[fetch]?.jobs.removeAll { $0 == id } }
        removals.add(job)
        if case .progressive = job.preview { job.preview = .none }
        return job
    }

    /// Ends a job.
    /// - Returns: The tasks that waited for it.
    mutating func finishJob(_ id: Job.ID) -> [ImageTask] {
        guard let job = removeJob(id) else { return [] }
        for task in job.tasks { jobsByTask[ObjectIdentifier(task)] = nil }
        guard job.isStale else { return job.tasks }
        endings.append(.refresh(job.request))
        // One refresh is enough for all jobs.
        for (id, other) in jobs where other.key.fetch == job.key.fetch { jobs[id]?.isStale = false }
        return job.tasks
    }

    @discardableResult
    mutating func updateJob<R>(_ id: Job.ID, _ body: (inout Job) -> R) -> R? {
        jobs[id] == nil ? nil : body(&jobs[id]!)
    }

    @discardableResult
    mutating func updateFetch<R>(_ id: Fetch.ID, _ body: (inout Fetch) -> R) -> R? {
        fetches[id] == nil ? nil : body(&fetches[id]!)
    }
}
