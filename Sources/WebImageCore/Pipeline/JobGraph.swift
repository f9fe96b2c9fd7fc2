import FoundationEssentials

/// Who waits for what: tasks wait for image jobs, image jobs for sources.
///
/// A source gets the bytes of a URL, once for all sizes. An image job decodes them, once for all tasks that want the
/// same image at the same size. The graph is a plain value behind one lock, held for a few dictionary operations at a
/// time; it calls nobody. What has to be done after a change is returned as Change and done when the lock is free.
struct JobGraph {
    typealias Identifier = UInt64

    /// Tasks with equal keys get the very same image.
    struct JobKey: Hashable {
        let image: ImageKey
        let size: DecodeSize
        let source: SourceKey
        let queriesRenditions: Bool

        init(_ request: ImageRequest) {
            queriesRenditions = request.readTiers.contains(.renditions)
            image = ImageKey(request)
            size = request.decodeSize
            source = SourceKey(request)
        }
    }

    /// Sources with equal keys get the same bytes from the same places.
    struct SourceKey: Hashable {
        let url: String
        let policy: CachePolicy
        let queries: Bool
        let stores: Bool
        let networkOptions: Box<NetworkOptions>?
        let loader: ObjectIdentifier?

        init(_ request: ImageRequest) {
            url = request.sourceKey
            policy = request.cachePolicy == .reload ? .standard : request.cachePolicy
            queries = request.readTiers.contains(.originals)
            stores = request.cacheAccess.writes.contains(.originals)
            networkOptions = request.boxedNetworkOptions
            loader = request.loader.map { $0.identity }
        }
    }

    struct Job {
        let key: JobKey
        let request: ImageRequest
        /// nil when it is made of a result.
        var source: Identifier?
        /// While the cache of results is asked; bytes of the source that come before the answer are just as good.
        var isLookingUp = false
        var tasks: [ImageTask]
        var priority: ImagePriority
        /// In the I/O queue, while that is to be asked.
        var readTicket: WorkQueue.Ticket?
        /// In the decode queue.
        var ticket: WorkQueue.Ticket?
        /// What the cache of results has, when the server is asked whether it is still the right one.
        var result: CacheEntry?
        var partial: ProgressiveDecoding?
        /// While the cached image is decoded, to be shown until the server has answered.
        var isPreviewing = false
        /// It, once it is there. Memory does not keep it before the server has answered.
        var preview: WebImage?
        /// The answer, when it came before that was done.
        var afterPreview: FetchedData?
    }

    struct Source {
        let key: SourceKey
        let request: ImageRequest
        var jobs: [Identifier]
        var priority: ImagePriority
        /// Whether any job needs the bytes; not so while the cache of results may have what all of them want.
        var hasBegun = false
        /// In the I/O queue, while the disk cache is to be asked.
        var ticket: WorkQueue.Ticket?
        /// What the disk cache has, when the server is asked whether it is still the right one.
        var stored: CacheEntry?
        /// Whether there is nothing stored, but every job has a result to be asked about.
        var hasRenditionsOnly = false
        /// At a loader, after that.
        var operation: (any FetchOperation)?
        /// How often a loader was asked.
        var attempts = 0
        /// Until a loader is asked again.
        var isWaiting = false
        var hasWaitedForNetwork = false
        var hasFirstBytes = false
        /// Whether a job decodes partial images; then the bytes so far are kept for those who join later.
        var wantsData = false
        var chunks: [Data] = []
    }

    /// What has to be done after a change.
    enum Change {
        case lookUp(Identifier, ImagePriority)
        case begin(Identifier, ImagePriority)
        case startStreaming(any FetchOperation)
        case prioritizeRead(WorkQueue.Ticket, ImagePriority)
        case prioritizeLoad(any FetchOperation, ImagePriority)
        case prioritizeDecode(WorkQueue.Ticket, ImagePriority)
        case dropRead(WorkQueue.Ticket)
        /// Nobody waits for this load any more.
        case leaveLoad(Identifier, any FetchOperation)
        case dropLoad(any FetchOperation)
        case dropDecode(WorkQueue.Ticket)
    }

    var jobs: [Identifier: Job] = [:]
    var sources: [Identifier: Source] = [:]
    var jobsByKey: [JobKey: Identifier] = [:]
    var sourcesByKey: [SourceKey: Identifier] = [:]
    var jobsByTask: [ObjectIdentifier: Identifier] = [:]
    private var lastIdentifier: Identifier = 0
}

// Joining and leaving.
extension JobGraph {
    /// - Parameter queriesRenditions: Whether the cache of results is asked first.
    mutating func join(_ task: ImageTask, queriesRenditions: Bool) -> [Change] {
        let key = JobKey(task.request)
        var changes: [Change] = []
        let id: Identifier
        if let running = jobsByKey[key] {
            id = running
            jobs[id]?.tasks.append(task)
        } else {
            id = makeIdentifier()
            jobs[id] = Job(key: key, request: task.request, tasks: [task], priority: task.priority)
            jobsByKey[key] = id
            let source = sourcesByKey[key.source] ?? insertSource(key.source, task)
            sources[source]?.jobs.append(id)
            jobs[id]?.source = source
            jobs[id]?.isLookingUp = queriesRenditions
            changes += queriesRenditions ? [.lookUp(id, task.priority)] : begin(source)
        }
        jobsByTask[ObjectIdentifier(task)] = id
        if task.wantsPartialImages { changes += startPartialDecoding(of: id) }
        changes += updatePriority(of: id)
        return changes
    }

    /// Lets a source get its bytes, unless it is at it.
    private mutating func begin(_ id: Identifier) -> [Change] {
        guard let source = sources[id], !source.hasBegun else { return [] }
        sources[id]?.hasBegun = true
        return [.begin(id, source.priority)]
    }

    /// The cache of results has nothing that can be shown as it is.
    /// - Parameter result: What the server is to be asked about.
    mutating func endLookUp(_ id: Identifier, result: CacheEntry?) -> [Change] {
        guard let job = jobs[id], job.isLookingUp, let source = job.source else { return [] }
        jobs[id]?.isLookingUp = false
        jobs[id]?.readTicket = nil
        jobs[id]?.result = result
        if result != nil { jobs[id]?.partial = nil }
        return begin(source)
    }

    /// The cache of results has what a job wants: its source can do without it.
    /// - Returns: nil when bytes have come first.
    mutating func useRendition(_ id: Identifier) -> (priority: ImagePriority, changes: [Change])? {
        guard let job = jobs[id], job.isLookingUp, let source = job.source else { return nil }
        jobs[id]?.isLookingUp = false
        jobs[id]?.readTicket = nil
        jobs[id]?.partial = nil
        jobs[id]?.source = nil
        sources[source]?.jobs.removeAll { $0 == id }
        return (job.priority, leaveSource(source))
    }

    /// Takes back what was said with useRendition(_:): the bytes are wanted after all.
    mutating func giveUpRendition(_ id: Identifier) -> [Change] {
        guard let job = jobs[id], job.source == nil, let task = job.tasks.first else { return [] }
        let source = sourcesByKey[job.key.source] ?? insertSource(job.key.source, task)
        sources[source]?.jobs.append(id)
        jobs[id]?.source = source
        jobs[id]?.ticket = nil
        return begin(source) + updateSourcePriority(source)
    }

    private mutating func leaveSource(_ id: Identifier) -> [Change] {
        guard let source = sources[id] else { return [] }
        guard source.jobs.isEmpty else { return updateSourcePriority(id) }
        if let operation = source.operation { return [.leaveLoad(id, operation)] }
        removeSource(id)
        return source.ticket.map { [.dropRead($0)] } ?? []
    }

    mutating func leave(_ task: ImageTask) -> [Change] {
        guard let id = jobsByTask.removeValue(forKey: ObjectIdentifier(task)) else { return [] }
        jobs[id]?.tasks.removeAll { $0 === task }
        guard jobs[id]?.tasks.isEmpty == true else { return updatePriority(of: id) }
        guard let job = removeJob(id) else { return [] }
        var changes = job.ticket.map { [Change.dropDecode($0)] } ?? []
        if let ticket = job.readTicket { changes.append(.dropRead(ticket)) }
        return changes + (job.source.map { leaveSource($0) } ?? [])
    }

    /// Ends a source that nobody waits for, unless somebody has come meanwhile.
    mutating func dropUnwanted(_ id: Identifier) -> [Change] {
        guard let source = sources[id], source.jobs.isEmpty else { return [] }
        removeSource(id)
        return source.operation.map { [.dropLoad($0)] } ?? []
    }

    /// Sets the priority of a job to the highest of its tasks, and that of its source to the highest of its jobs.
    mutating func updatePriority(ofTask task: ImageTask) -> [Change] {
        jobsByTask[ObjectIdentifier(task)].map { updatePriority(of: $0) } ?? []
    }

    private mutating func updatePriority(of id: Identifier) -> [Change] {
        guard let job = jobs[id], let highest = job.tasks.map(\.priority).max() else { return [] }
        var changes: [Change] = []
        if highest != job.priority {
            jobs[id]?.priority = highest
            if let ticket = job.ticket { changes.append(.prioritizeDecode(ticket, highest)) }
            if let ticket = job.readTicket { changes.append(.prioritizeRead(ticket, highest)) }
        }
        return changes + (job.source.map { updateSourcePriority($0) } ?? [])
    }

    private mutating func updateSourcePriority(_ id: Identifier) -> [Change] {
        guard let source = sources[id] else { return [] }
        guard let highest = source.jobs.compactMap({ jobs[$0]?.priority }).max(), highest != source.priority else {
            return []
        }
        sources[id]?.priority = highest
        if let operation = source.operation { return [.prioritizeLoad(operation, highest)] }
        if let ticket = source.ticket { return [.prioritizeRead(ticket, highest)] }
        return []
    }

    private mutating func startPartialDecoding(of id: Identifier) -> [Change] {
        guard let job = jobs[id], job.partial == nil, let sourceID = job.source, let source = sources[sourceID] else {
            return []
        }
        // With a whole image to show meanwhile, and after a load that broke off, there is nothing to gain.
        guard source.stored == nil, job.result == nil, source.attempts < 2 else { return [] }
        jobs[id]?.partial = ProgressiveDecoding(pending: source.chunks)
        guard !source.wantsData else { return [] }
        sources[sourceID]?.wantsData = true
        return source.operation.map { [.startStreaming($0)] } ?? []
    }

    mutating func insertSource(_ key: SourceKey, _ task: ImageTask) -> Identifier {
        let id = makeIdentifier()
        sources[id] = Source(key: key, request: task.request, jobs: [], priority: task.priority)
        sourcesByKey[key] = id
        return id
    }

    private mutating func makeIdentifier() -> Identifier {
        lastIdentifier += 1
        return lastIdentifier
    }
}
