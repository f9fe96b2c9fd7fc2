import FoundationEssentials

/// A helper of stage 5: finds a thread and memory for the decode of a job.
///
/// A decode without memory gives its thread back and is submitted again once there is memory, at the priority that its job
/// has by then. It runs before other decodes of that priority, because the memory that it holds is idle until it begins.
struct DecodeScheduler: PipelineStage {
    let context: StageContext
    private var slowQueue: WorkQueue { context.dependencies.slowQueue }

    /// Whether the bytes are decoded on the separate queue for slow decodes, because decoding can take seconds.
    func isSlow(_ data: FetchedData) -> Bool {
        slowQueue !== decodeQueue && (data.takesLong || data.plan?.isSlow == true)
    }

    /// Whether quick decodes are waiting for a thread.
    var isBusy: Bool { slowQueue !== decodeQueue && decodeQueue.load.waiting > 0 }

    /// Whether the budget can ever hold the memory of a decode.
    func canReserve(_ byteCount: Int) -> Bool { byteCount <= budget.decodingLimit }

    private func queue(_ isSlow: Bool) -> WorkQueue { isSlow && slowQueue.start() == 0 ? slowQueue : decodeQueue }

    /// Submits work for a job, which cancels it and changes its priority.
    /// - Parameters:
    ///   - product: What the work makes.
    ///   - last: The ticket that the job held while it waited for memory.
    func submit(
        _ id: JobGraph.Job.ID,
        making product: JobGraph.Job.Product,
        after last: WorkQueue.Ticket? = nil,
        priority: ImagePriority,
        isSlow: Bool,
        _ work: @escaping @Sendable () -> Void
    ) {
        let queue = queue(isSlow)
        let ticket = queue.submit(priority: priority, isResumed: last != nil, age: id.number, work)
        // The work may have begun already and be waiting for memory with a newer ticket.
        let current = graph.withLock { $0.setDecodeTicket(ticket, of: id, making: product, where: { $0 == last }) }
        // Without a ticket nothing else could cancel the work.
        if current == nil { queue.cancel(ticket) }
        // The priority may have changed before the graph had the ticket.
        if let current, current != priority { queue.setPriority(current, of: ticket) }
    }

    /// Has a job wait for memory.
    /// - Parameters:
    ///   - product: What the memory is for.
    ///   - work: Continues with the memory, on a thread of the queue.
    func wait(
        for byteCount: Int,
        _ id: JobGraph.Job.ID,
        making product: JobGraph.Job.Product,
        isSlow: Bool,
        _ work: @escaping @Sendable (MemoryBudget.Reservation) -> Void
    ) {
        let ticket = budget.makeTicket()
        // The job may have been cancelled, and its slot for a ticket reused by a newer decode.
        let wanted = graph.withLock { $0.setDecodeTicket(ticket, of: id, making: product) }
        guard let priority = wanted else { return }
        budget.waitForDecoding(byteCount, ticket: ticket, priority: priority, isSlow: isSlow) { [self] reservation in
            guard let priority = graph.job(id)?.priority else { return }
            submit(id, making: product, after: ticket, priority: priority, isSlow: isSlow) { work(reservation) }
        }
        // The decode may have been cancelled, or its priority changed, before it was waiting. If it has stopped
        // waiting, it has another ticket, and cancelling this one does nothing.
        guard let job = graph.job(id), job.tickets.contains(ticket) else { return budget.cancel(ticket) }
        if job.priority != priority { budget.setPriority(job.priority, of: ticket) }
    }
}

/// A decode for a job: the decode of the rendition on disk, or of the original if the rendition is missing or damaged.
struct DecodeRun<Value: Sendable>: Sendable {
    let id: JobGraph.Job.ID
    let product: JobGraph.Job.Product
    var rendition: CacheEntry?
    var original: FetchedData?
    /// The number of pixels that the decoder found when the reserved memory was too small.
    var pixelCount: Int?
    /// Ends a job that need not decode any longer. Returns whether it has. Asked again after each wait.
    var endsEarly: (@Sendable (JobGraph.Job) -> Bool)?
    /// Receives the image of the rendition and the time that decoding it took.
    let show: @Sendable (JobGraph.Job, WebImage, Duration) -> Value
    /// Decodes the original.
    let decode: @Sendable (JobGraph.Job, FetchedData, DecodeMemory) throws(ImageError) -> Value
    /// Called with the memory of the image, and with `nil` when there is nothing to decode. Not called when the job is gone.
    let completion: @Sendable (JobGraph.Job, Result<Value, ImageError>?, MemoryBudget.Reservation?) -> Void
}

/// The memory of a decode, and what it is for.
struct DecodeMemory {
    let reservation: MemoryBudget.Reservation
    let plan: DecodePlan
    /// The number of pixels that fit into the memory.
    let pixelCount: Int
    /// The bytes that are needed after decoding.
    fileprivate let final: Int

    /// Decodes a whole file into the pixel format of the request.
    /// - Parameter begun: The image, if an incremental decoder has already decoded the file.
    func image(of data: Data, begun: WebImage? = nil, isCancelled: () -> Bool) throws(ImageError) -> WebImage {
        let image =
            if let begun { begun } else {
                try plan.coder.decode(data, options: plan.options, holding: reservation, isCancelled: isCancelled)
            }
        return plan.options.pixelFormat.map { image.converted(to: $0) } ?? image
    }

    /// Gives back what only decoding needs.
    func endDecoding() { reservation.shrink(to: final) }
}

extension DecodeScheduler {
    /// Decodes within this call, or once there is memory. If the file has more pixels than it says, it restarts with more.
    /// - Parameter reservation: The memory, when the decode has waited for it.
    func run<Value>(_ run: DecodeRun<Value>, holding reservation: MemoryBudget.Reservation? = nil) {
        guard let job = graph.job(run.id), run.endsEarly?(job) != true else { return }
        var next = run
        next.rendition = nil
        func reserve(_ byteCount: Int, isSlow: Bool) -> MemoryBudget.Reservation? {
            if let memory = reservation ?? budget.takeForDecoding(byteCount, isSlow: isSlow) { return memory }
            wait(for: byteCount, run.id, making: run.product, isSlow: isSlow) { self.run(run, holding: $0) }
            return nil
        }
        if let rendition = run.rendition {
            if canReserve(rendition.pixelByteCount) {
                guard let memory = reserve(rendition.pixelByteCount, isSlow: false) else { return }
                defer { withExtendedLifetime(memory) {} }
                let start = ContinuousClock.now
                if let image = renditions.image(of: rendition, options: maker.decodeOptions(job.request)) {
                    return run.completion(job, .success(run.show(job, image, .now - start)), memory)
                }
                // The callers still hold the reservation, so releasing it here is not enough.
                memory.shrink(to: 0)
            }
            return self.run(next)
        }
        guard var data = run.original else { return run.completion(job, nil, nil) }
        do throws(ImageError) {
            // The decoder may have been added since the decode was submitted.
            var plan = if let chosen = data.plan { chosen } else { try maker.plan(of: data, for: job.request) }
            data.plan = plan
            let cost = try budget.cost(
                ofDecoding: data.loaded.data,
                as: plan.format,
                pixelCount: run.pixelCount,
                plan.options
            )
            plan.options.reservedPixelCount = cost.pixelCount
            let final = cost.finalByteCount(isChanged: plan.isChanged)
            // A large image with a transformer takes all of the memory rather than failing.
            let byteCount = max(cost.byteCount, min(final, budget.decodingLimit))
            guard let reserved = reserve(byteCount, isSlow: isSlow(data)) else { return }
            let memory = DecodeMemory(reservation: reserved, plan: plan, pixelCount: cost.pixelCount, final: final)
            defer { withExtendedLifetime(reserved) {} }
            let value: Value
            do throws(ImageError) {
                value = try run.decode(job, data, memory)
            } catch {
                // The memory is given back before more is taken, so that no decode waits for another one. A decoder
                // that was abandoned keeps its memory.
                if error.code != .timedOut, !error.isCancelled { reserved.shrink(to: 0) }
                throw error
            }
            run.completion(job, .success(value), reserved)
        } catch {
            next.pixelCount = error.pixelCount(after: run.pixelCount)
            guard next.pixelCount != nil else { return run.completion(job, .failure(error), nil) }
            // An incremental decoder that has failed must not receive the bytes a second time.
            graph.withLock { $0.abandonPartialImages(of: run.id) }
            self.run(next)
        }
    }
}
