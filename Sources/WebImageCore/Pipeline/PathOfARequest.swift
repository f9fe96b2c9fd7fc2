// What happens to a request, in the order in which it happens. Each line calls a stage, and nearly every stage ends with one of these
// calls.
//
// What has to go back up, such as a retry, a damaged rendition or a refresh in the background, is a change of the graph, whose effects
// Pipeline.apply(_:) carries out with these calls. A cancelled task leaves the graph in whatever stage it is; each stage notices that
// its job or fetch is gone.

// A task, on the caller's thread.
extension PipelineStage {
    /// 1. Is the image in memory? It is delivered within this call then.
    func lookIntoMemory<Content>(for task: LoadTask<Content>) { MemoryStage(context: context).start(task) }

    /// Shows the image of the preview URL until then.
    func showPreview(for task: ImageTask) { fallbackStage.startPreview(for: task) }

    /// Does the disk have a larger file of the same image?
    func findVariant(for task: ImageTask) { variantStage.start(task) }

    /// Lets the task into the graph, on a thread for that, so that callers do not wait. Beyond some dozens of jobs, tasks wait.
    func enterGraph(_ task: some AnyLoadTask) { intake.add(.enter(task)) }

    /// Has the app's code run around a child task, if it has such code.
    func runInterceptors(of task: ImageTask, with request: ImageRequest) { interceptorStage.run(task, request) }
}

// A job, which all tasks share that want the same image.
extension PipelineStage {
    /// 2. Does the disk have the image at this size? I/O queue, then decode queue.
    func findRendition(of job: JobGraph.Job.ID, _ priority: ImagePriority) {
        RenditionStage(context: context).lookUp(job, priority)
    }
}

// A fetch, which all jobs share that need the same bytes. It starts with the first of them that has no rendition.
extension PipelineStage {
    /// 3. Does the disk have the original, and is it fresh? I/O queue.
    func findOriginal(of fetch: JobGraph.Fetch.ID, _ priority: ImagePriority) { diskStage.lookUp(fetch, priority) }

    /// Shows the cached image until the server has answered.
    func showStaleImage(
        of fetch: JobGraph.Fetch.ID,
        _ entry: CacheEntry?,
        holding body: MemoryBudget.Reservation? = nil
    ) {
        StaleImageStage(context: context).start(fetch, entry, holding: body)
    }

    /// 4. Asks the loader, whose threads call back.
    func loadBytes(of fetch: JobGraph.Fetch.ID, with loader: (any DataLoading)? = nil) {
        FetchStage(context: context).load(fetch, with: loader)
    }

    /// Shows part of the image while its bytes arrive. Decode queue.
    func showPartialImage(of job: JobGraph.Job.ID) { ProgressiveStage(context: context).decode(job) }

    /// After a failure: uses what is cached, or asks again later, or fails.
    func recover(_ fetch: JobGraph.Fetch.ID, after error: ImageError) {
        RetryStage(context: context).recover(fetch, from: error)
    }

    /// Reads the original that the server has confirmed, or that serves since it cannot be asked.
    func readConfirmed(_ fetch: JobGraph.Fetch.ID, _ confirmation: Confirmation, _ priority: ImagePriority) {
        diskStage.readConfirmed(fetch, confirmation, priority: priority)
    }

    /// 5. Decodes the bytes for each job at its own size, and runs its transformer. Decode queue.
    func decodeBytes(of fetch: JobGraph.Fetch.ID, _ data: FetchedData) {
        DecodeStage(context: context).decode(fetch, data)
    }
}

// A job again.
extension PipelineStage {
    /// Does the same for a job whose partial or stale image was being decoded when its bytes came.
    func decodeBytes(for job: JobGraph.Job.ID, _ data: FetchedData) {
        DecodeStage(context: context).continueDecoding(job, data)
    }

    /// 6. Ends the job: its image is in memory, is delivered, and goes to disk.
    func finish(_ id: JobGraph.Job.ID, _ job: JobGraph.Job, with outcome: DecodeStage.Outcome, of data: FetchedData) {
        storeStage.finish(id, job, with: outcome, of: data)
    }

    /// Ends a fetch that has failed, with all its tasks.
    func fail(_ fetch: JobGraph.Fetch.ID, with error: ImageError) { deliveryStage.fail(fetch, error) }
}

// A task again, on its dispatcher: the main loop.
extension PipelineStage {
    /// 7. Calls the app back. An error comes only after the last fallback URL.
    func deliver<Content>(_ result: LoadTask<Content>.Ending, to task: LoadTask<Content>) {
        deliveryStage.deliver(result, to: task)
    }

    /// Delivers an image from a cache.
    func deliver(_ response: ImageResponse, to task: ImageTask) { deliveryStage.deliver(response, to: task) }

    /// Loads the next fallback URL, as a child task.
    /// - Returns: Whether there is one.
    func loadFallback<Content>(for task: LoadTask<Content>, after error: ImageError) -> Bool {
        fallbackStage.start(for: task, after: error)
    }
}

// Stages that others call for more than a step.
extension PipelineStage {
    var variantStage: VariantStage { VariantStage(context: context) }
    var intake: GraphIntake { GraphIntake(context: context) }
    var interceptorStage: InterceptorStage { InterceptorStage(context: context) }
    var diskStage: DiskStage { DiskStage(context: context) }
    var diskWatch: DiskWatch { DiskWatch(context: context) }
    var partialImageStage: PartialImageStage { PartialImageStage(context: context) }
    var scheduler: DecodeScheduler { DecodeScheduler(context: context) }
    var storeStage: StoreStage { StoreStage(context: context) }
    var deliveryStage: DeliveryStage { DeliveryStage(context: context) }
    var fallbackStage: FallbackStage { FallbackStage(context: context) }
}
