// What happens to a request, stage after stage, in the order in which it happens. A stage calls the ones after it by these names.
//
// What has to go back up, such as a retry, a damaged rendition or a refresh in the background, is a change of the graph, whose effects
// Pipeline.apply(_:) carries out. A cancelled task leaves the graph in whatever stage it is; each stage notices that its job or fetch
// is gone.

// A task, on the caller's thread.
extension PipelineStage {
    /// 1. Is the image in memory? It is delivered within this call then.
    var memoryStage: MemoryStage { MemoryStage(context: context) }

    /// Does the disk have a larger file of the same image?
    var variantStage: VariantStage { VariantStage(context: context) }

    /// Lets the task into the graph, on a thread for that, so that callers do not wait. Beyond some dozens of jobs, tasks wait.
    var intake: GraphIntake { GraphIntake(context: context) }

    /// Has the app's code run around a child task, if it has such code.
    var interceptorStage: InterceptorStage { InterceptorStage(context: context) }
}

// A job, which all tasks share that want the same image.
extension PipelineStage {
    /// 2. Does the disk have the image at this size? I/O queue, then decode queue.
    var renditionStage: RenditionStage { RenditionStage(context: context) }
}

// A fetch, which all jobs share that need the same bytes. It starts with the first of them that has no rendition.
extension PipelineStage {
    /// 3. Does the disk have the original, and is it fresh? I/O queue.
    var diskStage: DiskStage { DiskStage(context: context) }

    /// Goes on without the disk where that hangs.
    var diskWatch: DiskWatch { DiskWatch(context: context) }

    /// Shows the cached image until the server has answered. Decode queue.
    var staleImageStage: StaleImageStage { StaleImageStage(context: context) }

    /// 4. Asks the loader, whose threads call back.
    var fetchStage: FetchStage { FetchStage(context: context) }

    /// Decodes the part of the image that has arrived. Decode queue.
    var progressiveStage: ProgressiveStage { ProgressiveStage(context: context) }

    /// Shows that part, or before it the thumbnail in the file.
    var partialImageStage: PartialImageStage { PartialImageStage(context: context) }

    /// After a failure: uses what is cached, or asks again later, or fails.
    var retryStage: RetryStage { RetryStage(context: context) }
}

// Each job of the fetch again.
extension PipelineStage {
    /// 5. Decodes the bytes for each job at its own size, and runs its transformer. Decode queue.
    var decodeStage: DecodeStage { DecodeStage(context: context) }

    /// Finds a thread and memory for that.
    var scheduler: DecodeScheduler { DecodeScheduler(context: context) }

    /// 6. Ends the job: its image is in memory, is delivered, and goes to disk.
    var storeStage: StoreStage { StoreStage(context: context) }
}

// Each task of the job again, on its dispatcher: the main loop.
extension PipelineStage {
    /// 7. Calls the app back.
    var deliveryStage: DeliveryStage { DeliveryStage(context: context) }

    /// Before an error: loads the next fallback URL, as a child task. Before an image: that of the preview URL.
    var fallbackStage: FallbackStage { FallbackStage(context: context) }
}
