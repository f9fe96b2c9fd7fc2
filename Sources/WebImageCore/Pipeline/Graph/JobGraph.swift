import FoundationEssentials

/// The graph of tasks, jobs and fetches: tasks wait for jobs, jobs wait for fetches. Tasks for bytes wait for fetches.
///
/// A fetch gets the bytes of a URL, once for all sizes. A job decodes them, once for all tasks that want the same image
/// at the same size. The graph is a plain value behind one lock, which is held for a few dictionary operations, and it
/// calls no other code. Its mutations return effects, which the pipeline applies once the lock is free.
///
/// A mutation does nothing if its job or fetch is gone, because another thread may have cancelled it.
struct JobGraph: Sendable {
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
    /// Adds a task to the job of its image, and creates that job and its fetch if there are none.
    /// - Parameters:
    ///   - age: The age of the load, which is unique.
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
            // The priority is read once, because another thread may change it.
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

    /// Adds a job that decodes bytes for the disk cache. Tasks neither wait for it nor join it.
    /// - Parameter key: The key of the job that has the bytes. Nothing is stored under it, because there are no tasks.
    mutating func addJob(decoding request: ImageRequest, _ data: FetchedData, key: Job.Key) -> [Effect] {
        let id = Job.ID(number: Serial.nextAge())
        jobs[id] = Job(key: key, request: request, tasks: [], priority: .low, phase: .decoding(nil))
        jobCounts[ImagePriority.low.rank] += 1
        return [.decodeWhole(id, data)]
    }

    /// Whether there are fewer jobs of at least a priority than a limit, or a request would share a job or a fetch.
    func hasRoom(for request: ImageRequest, at priority: ImagePriority, limit: Int) -> Bool {
        if jobCount(from: priority) < limit { return true }
        let key = Job.Key(request)
        return jobsByKey[key] != nil || fetchesByKey[key.fetch] != nil
    }

    /// The number of jobs that have at least a priority.
    func jobCount(from priority: ImagePriority) -> Int {
        // This runs for each load, so it creates no slice.
        var count = 0
        for rank in priority.rank..<jobCounts.count { count += jobCounts[rank] }
        return count
    }

    /// Removes a task, and its job and fetch if it was their last one.
    mutating func cancel(_ task: ObjectIdentifier) -> [Effect] {
        if let id = fetchesByReader.removeValue(forKey: task) {
            updateFetch(id) { $0.readers.removeAll { ObjectIdentifier($0) == task } }
            return leaveFetch(id)
        }
        guard let id = jobsByTask.removeValue(forKey: task) else { return [] }
        jobs[id]?.tasks.removeAll { ObjectIdentifier($0) == task }
        guard jobs[id]?.tasks.isEmpty == true else { return updatePriority(of: id) }
        guard let job = removeJob(id) else { return [] }
        var effects = job.tickets.map { Effect.cancel($0) }
        if let fetch = job.fetch { effects += leaveFetch(fetch) }
        return effects
    }

    /// Ends a fetch that lost a job or a reader, unless others wait for it.
    mutating func leaveFetch(_ id: Fetch.ID) -> [Effect] {
        guard let fetch = fetches[id] else { return [] }
        guard !fetch.isWanted else { return updatePriority(of: id) }
        if let operation = fetch.attempt?.operation { return [.abandonLoad(id, operation)] }
        removeFetch(id)
        if case .lookingUp(let ticket?) = fetch.phase { return [.cancel(ticket)] }
        return []
    }

    /// Ends an abandoned fetch, unless a task has joined it in the meantime.
    /// - Parameter unlessStored: Whether the load goes on if the fetch stores its bytes.
    /// - Returns: The load to cancel.
    mutating func takeAbandonedFetch(_ id: Fetch.ID, unlessStored: Bool) -> (any FetchOperation)? {
        guard let fetch = fetches[id], !fetch.isWanted,
            !unlessStored || !fetch.request.cacheAccess.writes.contains(.originals)
        else { return nil }
        removeFetch(id)
        return fetch.attempt?.operation
    }

    /// Sets the priority of a job to the highest of its tasks, and the priority of its fetch to the highest of its jobs.
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
            effects = job.tickets.map { .prioritize($0, highest) }
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
        case .lookingUp(let ticket?): return [.prioritize(ticket, highest)]
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

    /// The fetch that jobs and readers with this key share, created if there is none.
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

    /// Keeps a fetch that is about to be replaced until the lock is free.
    mutating func releaseLater(_ fetch: Fetch) {
        removals.add(fetch)
    }

    /// Ends the preview of a job, which is released once the lock is free. A decode of the preview that is still queued
    /// is cancelled as well: see `takeEndings()`.
    mutating func endPreview(of id: Job.ID) {
        guard let preview = jobs[id]?.preview else { return }
        if case .stale(.decoding(let ticket?, _)) = preview { endings.append(.cancel(ticket)) }
        removals.add(preview)
        jobs[id]?.preview = .none
    }

    /// Ends the partial images of a job permanently.
    mutating func abandonPartialImages(of id: Job.ID) {
        if let decoder = updateProgressiveDecoding(of: id, { $0.abandon() }) { removals.add(decoder) }
    }

    /// Keeps the decoder of a job's partial images.
    mutating func setDecoder(_ decoder: ProgressiveDecoding.Decoder, of id: Job.ID) {
        if let old = updateProgressiveDecoding(of: id, { $0.setDecoder(decoder) }) { removals.add(old) }
    }

    /// Returns the effects of the previews and jobs that have ended since the last call.
    mutating func takeEndings() -> [Effect] {
        endings.isEmpty ? [] : exchange(&endings, with: [])
    }

    /// Returns what was removed since the last call.
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

// What loads must have in common to share a job or a fetch.

extension JobGraph.Job {
    /// Everything that the image depends on. Tasks with equal keys get the same image.
    struct Key: Hashable, Sendable {
        let image: ImageKey
        let size: DecodeSize
        let fetch: JobGraph.Fetch.Key
        let queriesRenditions: Bool
        /// How partial images are made, if not by default.
        let progressiveOptions: ProgressiveOptions?

        init(_ request: ImageRequest) {
            let isUsual = request.loading == .complete || !request.hasRareAttributes
            progressiveOptions = isUsual ? nil : request.progressiveOptions.ifUnusual
            queriesRenditions = request.readTiers.contains(.renditions)
            image = ImageKey(request)
            size = request.resolvedDecodeSize
            fetch = JobGraph.Fetch.Key(request)
        }

        /// The key of the image in the rendition cache.
        var rendition: String {
            image.renditionKey(size: size)
        }
    }
}

extension JobGraph.Fetch {
    /// Everything that the bytes depend on. Fetches with equal keys get the same bytes from the same places.
    struct Key: Hashable, Sendable {
        let url: String
        let policy: ImageRequest.CachePolicy
        let queriesOriginals: Bool
        let storesOriginals: Bool
        let networkOptions: Box<NetworkOptions>?
        /// The user name and password in the URL, which the keys of the caches do not contain.
        let userInfo: String?
        let loader: ObjectIdentifier?

        init(_ request: ImageRequest) {
            url = request.sourceKey
            userInfo = request.url.userInfo
            policy = request.cachePolicy.forSharing
            queriesOriginals = request.readTiers.contains(.originals)
            storesOriginals = request.cacheAccess.writes.contains(.originals)
            networkOptions = request.boxedNetworkOptions
            loader = request.loader.map { $0.identity }
        }
    }
}

extension ProgressiveOptions {
    /// The options, unless they are those that requests have by default.
    fileprivate var ifUnusual: ProgressiveOptions? { self == ProgressiveOptions() ? nil : self }
}
