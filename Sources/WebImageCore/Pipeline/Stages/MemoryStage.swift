import FoundationEssentials

/// Stage 1, on the caller's thread: the memory cache. A task whose image is not in memory joins the job of that image.
///
/// A bound widget looks before it starts a task, to show the image at once. The task looks again if one was stored since.
struct MemoryStage: PipelineStage {
    let context: StageContext
    func start<Content>(_ task: LoadTask<Content>) {
        guard task.begin() else { return }
        let request = task.request
        observers.notify(request.url, .requested, of: task)
        // The memory cache has no bytes, so only loads of images look there.
        let imageTask = task as? ImageTask
        if let imageTask, serves(imageTask) { return }
        guard task.interceptedRequest != nil || !request.url.absoluteString.isEmpty else {
            return deliveryStage.deliver(.failure(.invalidURL(request.url, "The URL is empty")), to: task)
        }
        if let error = context.requiredQueues.shortage(for: request.url) { return task.finish(.failure(error)) }
        if let imageTask, imageTask.interceptedRequest == nil {
            // The preview is loaded first, because it is smaller.
            if let url = request.previewURL { fallbackStage.startPreview(url, for: imageTask) }
            if !request.largerVariants.isEmpty { return variantStage.start(imageTask) }
        }
        intake.add(.enter(task))
    }

    /// Ends a task with the image in memory, or shows that image until the load ends.
    private func serves(_ task: ImageTask) -> Bool {
        let request = task.request
        let isRead = request.readTiers.contains(.memory)
        if let intercepted = task.interceptedRequest {
            guard isRead, !preparation.interceptsMemoryHits(of: intercepted) else { return false }
        }
        let found = isRead ? memory.hit(for: task) : nil
        if let hit = found, memory.ends(request, hit) {
            observers.notify(request.url, .memoryHit, of: task)
            deliveryStage.deliver(hit.response, to: task, isNow: true)
            return true
        }
        // The child task looks again.
        guard task.interceptedRequest == nil else { return false }
        if let hit = found {
            observers.notify(request.url, .memoryHit, of: task)
            task.reportNow(partial: hit.image)
        } else {
            observers.notify(request.url, .memoryMiss, of: task)
            if isRead { showOtherSize(to: task) }
        }
        return false
    }

    /// Shows the image at another size until it is loaded at the right size.
    private func showOtherSize(to task: ImageTask) {
        guard task.wantsPartialImages else { return }
        if let hit = memory.hit(for: task.request, inAnySize: true, isRepeated: true) {
            task.reportNow(partial: hit.image.asPreview)
        }
    }
}
