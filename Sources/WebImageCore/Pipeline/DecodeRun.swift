/// A decode for a job: of the rendition on disk or, where that is missing or damaged, of the original.
struct DecodeRun: Sendable {
    let id: JobGraph.Job.ID
    let product: JobGraph.Job.Product
    var rendition: CacheEntry?
    var original: FetchedData?
    /// Whether a rendition is made of the image.
    var makesRendition = false
    /// How many pixels the decoder has found, more than there was memory for.
    fileprivate var pixelCount: Int?

    init(
        _ id: JobGraph.Job.ID,
        making product: JobGraph.Job.Product,
        of rendition: CacheEntry?,
        or original: FetchedData?
    ) {
        (self.id, self.product, self.rendition, self.original) = (id, product, rendition, original)
    }
}

/// The memory of a decode, and what it is for.
typealias DecodeMemory = (reservation: MemoryBudget.Reservation, cost: ImageMaker.Cost)

extension DecodeScheduler {
    /// Decodes within this call, or once there is memory. It begins again with more when there are more pixels than the header says.
    /// - Parameters:
    ///   - reservation: The memory, when the decode has waited for it.
    ///   - show: Takes the image of the rendition.
    ///   - decode: Decodes the original.
    ///   - completion: Called with the memory of the image, and with `nil` when there is nothing to decode. Not called when the job is gone.
    func run<Value: Sendable>(
        _ run: DecodeRun,
        holding reservation: MemoryBudget.Reservation? = nil,
        show: @escaping @Sendable (JobGraph.Job, WebImage) -> Value,
        decode:
            @escaping @Sendable (JobGraph.Job.ID, JobGraph.Job, FetchedData, DecodeMemory) throws(ImageError) -> Value,
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
                if let image = renditions.image(of: rendition, options: maker.decodeOptions(job.request)) {
                    return completion(job, .success(show(job, image)), memory)
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
            guard let memory = reserve(cost.decoding, isSlow: isSlow(data, for: job.request)) else { return }
            defer { withExtendedLifetime(memory) {} }
            let value: Value
            do throws(ImageError) {
                value = try decode(run.id, job, data, (memory, cost))
            } catch {
                // The memory is given back before more is taken, so that no decode waits for another one.
                memory.shrink(to: 0)
                throw error
            }
            completion(job, .success(value), memory)
        } catch {
            next.pixelCount = error.pixelCount(after: run.pixelCount)
            guard next.pixelCount != nil else { return completion(job, .failure(error), nil) }
            self.run(next, show: show, decode: decode, completion: completion)
        }
    }
}
