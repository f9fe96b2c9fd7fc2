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
        let loadOptions: Box<LoadOptions>?

        init(_ request: ImageRequest) {
            url = request.url.absoluteString
            policy = request.options.intersection([
                .fromCacheOnly, .fromLoaderOnly, .memoryCacheOnly, .refreshCached, .ignoreFreshness,
            ])
            loadOptions = request.boxedLoadOptions
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
        /// While the cached picture is decoded, to be shown until the server has answered.
        var isPreviewing = false
        /// The answer, when it came before that was done.
        var afterPreview: LoadedSource?
    }

    struct Source {
        let key: SourceKey
        let request: ImageRequest
        var jobs: [Identifier]
        var priority: ImagePriority
        /// In the I/O lane, while the disk cache is to be asked.
        var ticket: WorkLane.Ticket?
        /// What the disk cache has, when the server is asked whether it is still the right one.
        var stored: DiskEntry?
        /// At a loader, after that.
        var operation: (any LoadOperation)?
        /// How often a loader was asked.
        var attempts = 0
        /// Until a loader is asked again.
        var isWaiting = false
        var hasWaitedForNetwork = false
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
        /// Nobody waits for this load any more.
        case leaveLoad(Identifier, any LoadOperation)
        case dropLoad(any LoadOperation)
        case dropDecode(WorkLane.Ticket)
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
        guard source.jobs.isEmpty else { return changes + updateSourcePriority(job.source) }
        if let operation = source.operation { return changes + [.leaveLoad(job.source, operation)] }
        removeSource(job.source)
        if let ticket = source.ticket { changes.append(.dropRead(ticket)) }
        return changes
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
        // With a whole picture to show meanwhile, and after a load that broke off, there is nothing to gain.
        guard source.stored == nil, source.attempts < 2 else { return [] }
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
