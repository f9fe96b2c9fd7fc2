import FoundationEssentials

/// Who waits for what: tasks wait for image jobs, image jobs for sources.
///
/// A source gets the bytes of a URL, once for all sizes. An image job decodes them, once for all tasks that want the
/// same picture at the same size. The graph is a plain value behind one lock, held for a few dictionary operations at a
/// time; it calls nobody. What has to be done after a change is returned as ``Change`` and done when the lock is free.
struct JobGraph {
    typealias Identifier = UInt64

    /// Tasks with equal keys get the very same picture.
    struct JobKey: Hashable {
        let image: ImageKey
        let size: DecodeSize
        let source: SourceKey
    }

    /// Sources with equal keys get the same bytes from the same places.
    struct SourceKey: Hashable {
        let url: String
        let policy: ImageOptions

        init(_ request: ImageRequest) {
            url = request.url.absoluteString
            policy = request.options.intersection([.fromCacheOnly, .fromLoaderOnly, .memoryCacheOnly])
        }
    }

    struct Job {
        let key: JobKey
        let request: ImageRequest
        let source: Identifier
        var tasks: [ImageTask]
        var priority: ImagePriority
        var ticket: WorkLane.Ticket?
        var partial: PartialDecoding?
    }

    struct Source {
        let key: SourceKey
        let request: ImageRequest
        var jobs: [Identifier]
        var priority: ImagePriority
        /// In the I/O lane, while the disk cache is to be asked.
        var ticket: WorkLane.Ticket?
        /// At a loader, after that.
        var operation: (any LoadOperation)?
        /// Whether a job decodes partial pictures; then the bytes so far are kept for those who join later.
        var wantsData = false
        var chunks: [Data] = []
    }

    /// What has to be done after a change.
    enum Change {
        case begin(Identifier, ImagePriority)
        case deliverData(any LoadOperation)
        case prioritizeRead(WorkLane.Ticket, ImagePriority)
        case prioritizeLoad(any LoadOperation, ImagePriority)
        case prioritizeDecode(WorkLane.Ticket, ImagePriority)
        case dropRead(WorkLane.Ticket)
        case dropLoad(any LoadOperation)
        case dropDecode(WorkLane.Ticket)
    }

    private(set) var jobs: [Identifier: Job] = [:]
    private(set) var sources: [Identifier: Source] = [:]
    private var jobsByKey: [JobKey: Identifier] = [:]
    private var sourcesByKey: [SourceKey: Identifier] = [:]
    private var jobsByTask: [ObjectIdentifier: Identifier] = [:]
    private var lastIdentifier: Identifier = 0
}

// Joining and leaving.
extension JobGraph {
    mutating func join(_ task: ImageTask) -> [Change] {
        let key = JobKey(
            image: ImageKey(task.request),
            size: task.request.decodeSize,
            source: SourceKey(task.request)
        )
        var changes: [Change] = []
        let id: Identifier
        if let running = jobsByKey[key] {
            id = running
            jobs[id]?.tasks.append(task)
        } else {
            id = makeIdentifier()
            let source = sourcesByKey[key.source] ?? insertSource(key.source, task, &changes)
            sources[source]?.jobs.append(id)
            jobs[id] = Job(key: key, request: task.request, source: source, tasks: [task], priority: task.priority)
            jobsByKey[key] = id
        }
        jobsByTask[ObjectIdentifier(task)] = id
        if task.wantsPartialImages { changes += startPartialDecoding(of: id) }
        changes += updatePriority(of: id)
        return changes
    }

    mutating func leave(_ task: ImageTask) -> [Change] {
        guard let id = jobsByTask.removeValue(forKey: ObjectIdentifier(task)) else { return [] }
        jobs[id]?.tasks.removeAll { $0 === task }
        guard jobs[id]?.tasks.isEmpty == true else { return updatePriority(of: id) }
        guard let job = removeJob(id) else { return [] }
        var changes = job.ticket.map { [Change.dropDecode($0)] } ?? []
        guard let source = sources[job.source] else { return changes }
        if source.jobs.isEmpty {
            removeSource(job.source)
            if let ticket = source.ticket { changes.append(.dropRead(ticket)) }
            if let operation = source.operation { changes.append(.dropLoad(operation)) }
        } else {
            changes += updateSourcePriority(job.source)
        }
        return changes
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
        }
        return changes + updateSourcePriority(job.source)
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
        guard let job = jobs[id], job.partial == nil, let source = sources[job.source] else { return [] }
        jobs[id]?.partial = PartialDecoding(pending: source.chunks)
        guard !source.wantsData else { return [] }
        sources[job.source]?.wantsData = true
        return source.operation.map { [.deliverData($0)] } ?? []
    }

    private mutating func insertSource(
        _ key: SourceKey,
        _ task: ImageTask,
        _ changes: inout [Change]
    ) -> Identifier {
        let id = makeIdentifier()
        sources[id] = Source(key: key, request: task.request, jobs: [], priority: task.priority)
        sourcesByKey[key] = id
        changes.append(.begin(id, task.priority))
        return id
    }

    private mutating func makeIdentifier() -> Identifier {
        lastIdentifier += 1
        return lastIdentifier
    }
}

// What the stages change. Each does nothing when the job or source has gone in the meantime.
extension JobGraph {
    mutating func setTicket(_ ticket: WorkLane.Ticket, ofSource id: Identifier) {
        // A read that was quicker than this call has handed over to a loader, or has ended.
        if sources[id]?.operation == nil { sources[id]?.ticket = ticket }
    }

    /// - Returns: What to do with the operation now, which is to drop it when nobody waits for it any more.
    mutating func setOperation(_ operation: any LoadOperation, ofSource id: Identifier, asked: LoadRequest) -> [Change]
    {
        guard let source = sources[id] else { return [.dropLoad(operation)] }
        sources[id]?.operation = operation
        sources[id]?.ticket = nil
        var changes: [Change] = []
        if source.wantsData, !asked.wantsData { changes.append(.deliverData(operation)) }
        if source.priority != asked.priority { changes.append(.prioritizeLoad(operation, source.priority)) }
        return changes
    }

    mutating func setTicket(_ ticket: WorkLane.Ticket, ofJob id: Identifier) {
        jobs[id]?.ticket = ticket
    }

    /// Keeps bytes for those who join later, and hands them to the jobs that decode partial pictures.
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

    mutating func updatePartial<R>(of id: Identifier, _ body: (inout PartialDecoding) -> R) -> R? {
        guard jobs[id]?.partial != nil else { return nil }
        return body(&jobs[id]!.partial!)
    }

    /// Ends a source that has its bytes; its jobs go on to decode them.
    mutating func finishSource(_ id: Identifier) -> [(Identifier, ImagePriority)] {
        guard let source = removeSource(id) else { return [] }
        return source.jobs.compactMap { job in jobs[job].map { (job, $0.priority) } }
    }

    /// Ends a source that failed, with its jobs.
    mutating func failSource(_ id: Identifier) -> [ImageTask] {
        guard let source = removeSource(id) else { return [] }
        return source.jobs.flatMap { finishJob($0) }
    }

    /// Ends a job.
    /// - Returns: The tasks that waited for it.
    mutating func finishJob(_ id: Identifier) -> [ImageTask] {
        guard let job = removeJob(id) else { return [] }
        for task in job.tasks { jobsByTask[ObjectIdentifier(task)] = nil }
        return job.tasks
    }

    private mutating func removeJob(_ id: Identifier) -> Job? {
        guard let job = jobs.removeValue(forKey: id) else { return nil }
        jobsByKey[job.key] = nil
        sources[job.source]?.jobs.removeAll { $0 == id }
        return job
    }

    @discardableResult
    private mutating func removeSource(_ id: Identifier) -> Source? {
        guard let source = sources.removeValue(forKey: id) else { return nil }
        sourcesByKey[source.key] = nil
        return source
    }
}
