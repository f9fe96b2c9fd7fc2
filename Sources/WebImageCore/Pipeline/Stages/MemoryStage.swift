import FoundationEssentials

/// Stage 1, on the caller's thread: the memory cache. A miss makes the task join the job of its image.
///
/// A bound widget looks into the memory cache before it starts a task, to show the image within the same call. It pays
/// for a second look here only when the first one found nothing.
struct MemoryStage: PipelineStage {
    let context: StageContext
    func start(_ task: ImageTask) {
        guard task.begin() else { return }
        let request = task.request
        let reads = request.readTiers
        observers.notify(request.url, .queued, of: task)
        if let intercepted = task.interceptedRequest { return start(task, intercepted) }
        if reads.contains(.memory), let hit = memory.hit(for: request) {
            observers.notify(request.url, .memoryHit, of: task)
            if memory.ends(request, hit) { return deliveryStage.deliverNow(hit.response, to: task) }
            task.reportNow(partial: hit.image)
        } else {
            observers.notify(request.url, .memoryMiss, of: task)
            if reads.contains(.memory) { showOtherSize(to: task) }
        }
        guard !request.url.absoluteString.isEmpty else {
            deliveryStage.deliver(.failure(.invalidURL(request.url, "The URL is empty")), to: task)
            return
        }
        if let error = context.requiredQueues.shortage(for: request.url) {
            return task.finish(.failure(error))
        }
        // The preview goes first, since it is smaller.
        fallbackStage.startPreview(for: task)
        if request.largerVariants.isEmpty { intake.add(.enter(.image(task))) } else { variantStage.start(task) }
    }

    /// Serves a task of the app with the image in memory, or has its interceptors run.
    private func start(_ task: ImageTask, _ intercepted: ImageRequest) {
        let request = task.request
        guard !preparation.interceptsMemoryHits(of: intercepted), request.readTiers.contains(.memory),
            let hit = memory.hit(for: request), memory.ends(request, hit)
        else {
            if let error = context.requiredQueues.shortage(for: request.url) {
                return task.finish(.failure(error))
            }
            return intake.add(.enter(.image(task)))
        }
        observers.notify(request.url, .memoryHit, of: task)
        deliveryStage.deliverNow(hit.response, to: task)
    }

    /// Shows the image at another size until it is there at the right one.
    private func showOtherSize(to task: ImageTask) {
        guard task.wantsPartialImages else { return }
        if let hit = memory.hit(inAnySizeFor: task.request) {
            task.reportNow(partial: hit.image.asPreview)
        }
    }
}
