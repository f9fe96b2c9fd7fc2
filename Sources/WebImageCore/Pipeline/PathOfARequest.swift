// What happens to a request, stage after stage, in the order in which it happens. A stage calls the ones after it by these names.
//
// Steps that go back up, such as a retry, a damaged rendition or a refresh in the background, are changes of the graph.
// Pipeline.apply(_:) carries out their effects. A cancelled task leaves the graph at whatever stage it is; each stage
// notices that its job or fetch is gone.

// A task, on the caller's thread.
extension PipelineStage {
    /// 1. Looks for the image in memory. A hit is delivered within this call.
    var memoryStage: MemoryStage { MemoryStage(context: context) }

    /// Looks on the disk for a larger file of the same image.
    var variantStage: VariantStage { VariantStage(context: context) }

    /// Lets the task into the graph, on a separate thread so that callers do not wait. Beyond some dozens of jobs, tasks wait.
    var intake: GraphIntake { GraphIntake(context: context) }

    /// Runs the interceptors of the app around a child task, if there are any.
    var interceptorStage: InterceptorStage { InterceptorStage(context: context) }
}

// A job, which is shared by all tasks that want the same image.
extension PipelineStage {
    /// 2. Looks on the disk for the image at this size. I/O queue, then decode queue.
    var renditionStage: RenditionStage { RenditionStage(context: context) }
}

// A fetch, which is shared by all jobs that need the same bytes. It starts with the first of these jobs that has no rendition.
extension PipelineStage {
    /// 3. Looks on the disk for a fresh original. I/O queue.
    var diskStage: DiskStage { DiskStage(context: context) }

    /// Submits reads of the disk, and continues without it if it hangs. I/O queue.
    var diskWatch: DiskWatch { DiskWatch(context: context) }

    /// 4. Asks the loader, whose threads call back.
    var fetchStage: FetchStage { FetchStage(context: context) }

    /// Shows the cached image until the server has answered. Decode queue.
    var staleImageStage: StaleImageStage { StaleImageStage(context: context) }

    /// Decodes the part of the image that has arrived. Decode queue.
    var progressiveStage: ProgressiveStage { ProgressiveStage(context: context) }

    /// After a failure: uses a cached image, asks again later, or fails.
    var retryStage: RetryStage { RetryStage(context: context) }
}

// Again each job of the fetch.
extension PipelineStage {
    /// 5. Decodes the bytes for each job at its own size, and runs its transformer. Decode queue.
    var decodeStage: DecodeStage { DecodeStage(context: context) }

    /// Shows a partial image, or before that the thumbnail in the file.
    var partialImageStage: PartialImageStage { PartialImageStage(context: context) }

    /// Finds a thread and memory for decoding.
    var scheduler: DecodeScheduler { DecodeScheduler(context: context) }

    /// 6. Ends the job: its original is stored on disk, its image in memory; it is delivered, and its rendition stored.
    var storeStage: StoreStage { StoreStage(context: context) }
}

// Again each task of the job, on its dispatcher: the main loop.
extension PipelineStage {
    /// 7. Calls the callbacks of the app.
    var deliveryStage: DeliveryStage { DeliveryStage(context: context) }

    /// Before an error, loads the next fallback URL as a child task. Before an image, loads the preview URL.
    var fallbackStage: FallbackStage { FallbackStage(context: context) }
}
