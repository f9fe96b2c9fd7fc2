/// A helper of stage 5: finds a thread and memory for the decode of a job.
///
/// A decode without memory gives its thread back and is submitted again once there is memory, at the priority that its job
/// has by then. It runs before other decodes of that priority, because the memory that it holds is idle until it begins.
struct DecodeScheduler: PipelineStage {
    let context: StageContext
    private var slowQueue: WorkQueue { context.dependencies.slowQueue }

    /// Whether the bytes are decoded on the separate queue for slow decodes, because decoding can take seconds.
    func isSlow(_ data: FetchedData) -> Bool {
        slowQueue !== decodeQueue && (data.takesLong || data.decoder?.isSlow == true)
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
        guard let job = graph.job(id), job.decodeTicket == ticket else {
            return budget.cancel(ticket)
        }
        if job.priority != priority { budget.setPriority(job.priority, of: ticket) }
    }
}

/// A decode for a job: the decode of the rendition on disk, or of the original if the rendition is missing or damaged.
struct DecodeRun: Sendable {
    let id: JobGraph.Job.ID
    let product: JobGraph.Job.Product
    var rendition: CacheEntry?
    var original: FetchedData?
    /// Whether a rendition is made from the image.
    var makesRendition = false
    /// The number of pixels that the decoder found when the reserved memory was too small.
    var pixelCount: Int?
}

/// The memory of a decode, and what it is for.
typealias DecodeMemory = (reservation: MemoryBudget.Reservation, cost: ImageMaker.Cost)

extension DecodeScheduler {
    /// Decodes within this call, or once there is memory. If the file has more pixels than it says, it restarts with more.
    /// - Parameters:
    ///   - reservation: The memory, when the decode has waited for it.
    ///   - show: Receives the image of the rendition and the time that decoding it took.
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
                // The callers still hold the reservation, so releasing it here is not enough.
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
            // The decoder may have been added since the decode was submitted.
            let isSlow = slowQueue !== decodeQueue && (data.takesLong || cost.decoder.isSlow)
            guard let memory = reserve(cost.decoding, isSlow: isSlow) else { return }
            defer { withExtendedLifetime(memory) {} }
            let value: Value
            do throws(ImageError) {
                value = try decode(job, data, (memory, cost))
            } catch {
                // The memory is given back before more is taken, so that no decode waits for another one. A decoder
                // that was abandoned keeps its memory.
                if error.code != .timedOut, !error.isCancelled { memory.shrink(to: 0) }
                throw error
            }
            completion(job, .success(value), memory)
        } catch {
            next.pixelCount = error.pixelCount(after: run.pixelCount)
            guard next.pixelCount != nil else { return completion(job, .failure(error), nil) }
            // An incremental decoder that has failed must not receive the bytes a second time.
            graph.withLock { $0.abandonPartialImages(of: run.id) }
            self.run(next, show: show, decode: decode, completion: completion)
        }
    }
}
