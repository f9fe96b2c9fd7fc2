/// Beside stage 5: finds a thread and memory for what a job decodes.
///
/// A decode for which there is no memory gives its thread back and is submitted again once there is some, at the priority that
/// its job has by then. It goes before the others of that priority, since the memory that it holds is idle until it begins.
struct DecodeScheduler: PipelineStage {
    let context: StageContext
    private var queue: WorkQueue { decodeQueue }
    private var slowQueue: WorkQueue { context.dependencies.slowQueue }

    /// Whether the bytes are decoded on a queue of their own, because that can take seconds.
    func isSlow(_ data: FetchedData, for request: ImageRequest) -> Bool {
        slowQueue !== queue && (data.takesLong || maker.isSlow(data, for: request))
    }

    /// Whether other images wait behind those that are not slow.
    var isBusy: Bool { slowQueue !== queue && queue.load.waiting > 0 }

    /// Whether there can ever be memory for a decode.
    func canReserve(_ byteCount: Int) -> Bool { byteCount <= budget.decodingLimit }

    private func queue(_ isSlow: Bool) -> WorkQueue { isSlow && slowQueue.start() == 0 ? slowQueue : queue }

    /// Submits work for a job, which cancels it and changes its priority.
    /// - Parameters:
    ///   - product: What the work makes.
    ///   - last: The ticket with which the job has waited for memory.
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
        // The work may have begun, and be waiting for memory with a ticket of its own.
        let current = graph.withLock { $0.setDecodeTicket(ticket, of: id, making: product, where: { $0 == last }) }
        // What has waited for memory holds it, and nobody could cancel it any more.
        if current == nil, last != nil { queue.cancel(ticket) }
        // The priority may have changed before the graph had the ticket.
        if let current, current != priority { queue.setPriority(current, of: ticket) }
    }

    /// Has a job wait for memory.
    /// - Parameters:
    ///   - product: What the memory is for.
    ///   - work: Goes on with the memory, on a thread of the queue.
    func wait(
        for byteCount: Int,
        _ id: JobGraph.Job.ID,
        making product: JobGraph.Job.Product,
        isSlow: Bool,
        _ work: @escaping @Sendable (MemoryBudget.Reservation) -> Void
    ) {
        let ticket = budget.makeTicket()
        // Whoever does not want the image any more would take the ticket of what has come in its place.
        let wanted = graph.withLock { $0.setDecodeTicket(ticket, of: id, making: product) }
        guard let priority = wanted else { return }
        budget.waitForDecoding(byteCount, ticket: ticket, priority: priority, isSlow: isSlow) { [self] reservation in
            guard let priority = graph.job(id)?.priority else { return }
            submit(id, making: product, after: ticket, priority: priority, isSlow: isSlow) { work(reservation) }
        }
        // The decode may have been cancelled, or its priority changed, before it waited. One that does not wait any more has
        // another ticket, and this one does nothing.
        guard let job = graph.job(id), job.decodeTicket == ticket else {
            return budget.cancel(ticket)
        }
        if job.priority != priority { budget.setPriority(job.priority, of: ticket) }
    }
}

/// A decode for a job: of the rendition on disk or, where that is missing or damaged, of the original.
struct DecodeRun: Sendable {
    let id: JobGraph.Job.ID
    let product: JobGraph.Job.Product
    var rendition: CacheEntry?
    var original: FetchedData?
    /// Whether a rendition is made of the image.
    var makesRendition = false
    /// How many pixels the decoder has found, more than there was memory for.
    var pixelCount: Int?
}

/// The memory of a decode, and what it is for.
typealias DecodeMemory = (reservation: MemoryBudget.Reservation, cost: ImageMaker.Cost)

extension DecodeScheduler {
    /// Decodes within this call, or once there is memory. It begins again with more when there are more pixels than the header says.
    /// - Parameters:
    ///   - reservation: The memory, when the decode has waited for it.
    ///   - show: Takes the image of the rendition, and the time for decoding it.
    ///   - decode: Decodes the original.
    ///   - completion: Called with the memory of the image, and with `nil` when there is nothing to decode. Not called when the job is gone.
    func run<Value: Sendable>(
        _ run: DecodeRun,
        holding reservation: MemoryBudget.Reservation? = nil,
        show: @escaping @Sendable (JobGraph.Job, WebImage, Duration) -> Value,
        decode: @escaping @Sendable (JobGraph.Job, FetchedData, DecodeMemory) throws(ImageError) -> Value,
        completion: @escaping @Sendable (JobGraph.Job, Result<Value, ImageError>?, MemoryBudget.Reservation?) -> Void
    ) {
        guard let job = graph.job(run.id) else { return }
        var next = run
        next.rendition = nil
        func reserve(_ byteCount: Int, isSlow: Bool) -> MemoryBudget.Reservation? {
            if let memory = reservation ?? budget.takeForDecoding(byteCount, isSlow: isSlow) { return memory }
            wait(for: byteCount, run.id, making: run.product, isSlow: isSlow) { [self] in
                self.run(run, holding: $0, show: show, decode: decode, completion: completion)
            }
            return nil
        }
        if let rendition = run.rendition {
            if canReserve(rendition.pixelByteCount) {
                guard let memory = reserve(rendition.pixelByteCount, isSlow: false) else { return }
                defer { withExtendedLifetime(memory) {} }
                let start = ContinuousClock.now
                if let image = renditions.image(of: rendition, options: maker.decodeOptions(job.request)) {
                    return completion(job, .success(show(job, image, .now - start)), memory)
                }
                // The callers still have the reservation, so that releasing it is not enough.
                memory.shrink(to: 0)
            }
            return self.run(next, show: show, decode: decode, completion: completion)
        }
        guard let data = run.original else { return completion(job, nil, nil) }
        do throws(ImageError) {
            let cost = try maker.cost(
                of: data,
                for: job,
                pixelCount: run.pixelCount,
                makesRendition: run.makesRendition
            )
            let isSlow = slowQueue !== queue && (data.takesLong || cost.isSlow)
            guard let memory = reserve(cost.decoding, isSlow: isSlow) else { return }
            defer { withExtendedLifetime(memory) {} }
            let value: Value
            do throws(ImageError) {
                value = try decode(job, data, (memory, cost))
            } catch {
                // The memory is given back before more is taken, so that no decode waits for another one. A loader that was left behind
                // keeps what it has.
                if error.code != .timedOut, !error.isCancelled { memory.shrink(to: 0) }
                throw error
            }
            completion(job, .success(value), memory)
        } catch {
            next.pixelCount = error.pixelCount(after: run.pixelCount)
            guard next.pixelCount != nil else { return completion(job, .failure(error), nil) }
            // An incremental decoder that has failed gets no bytes a second time.
            graph.withLock { $0.abandonPartialImages(of: run.id) }
            self.run(next, show: show, decode: decode, completion: completion)
        }
    }
}
