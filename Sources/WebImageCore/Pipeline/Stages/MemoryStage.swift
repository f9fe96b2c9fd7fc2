import FoundationEssentials
import Synchronization

/// An image in the memory cache, and the URL of its file.
struct MemoryHit: Sendable {
    let entry: MemoryEntry
    let url: URL
    var image: WebImage { entry.image }

    /// The response of a load that ends with the image.
    var response: ImageResponse { ImageResponse(image: image, source: .memory, url: url) }
}

/// Stage 1, on the caller's thread: the memory cache. A task whose image is not in memory joins the job of that image.
///
/// A bound widget looks before it starts a task, to show the image at once. If an image was stored since, the task looks again
/// at its start, and on the thread of the intake before it joins. For an image that has several files, a larger file is also a hit.
package struct MemoryStage: PipelineStage {
    let context: StageContext

    /// Looks for the image of a binding before its load starts, and notes a miss in the request. A hit that ends the load is
    /// reported to the observers.
    /// - Parameter inAnySize: Whether the size is not known yet, so that the largest image is best.
    /// - Returns: The image to show within the same call, and the response if the load ends with that image.
    package func hit(
        forBinding prepared: inout PreparedRequest,
        inAnySize: Bool
    ) -> (image: WebImage?, response: ImageResponse?) {
        guard prepared.request.readTiers.contains(.memory), isAskedFirst(for: prepared.intercepted) else {
            return (nil, nil)
        }
        // The load counts its miss when it starts.
        let storeCount = memoryCache.storeCount
        guard let found = hit(for: prepared.request, inAnySize: inAnySize, isRepeated: true) else {
            prepared.storeCountAtLook = storeCount
            return (nil, nil)
        }
        guard !prepared.request.includesData, ends(prepared.request, found) else { return (found.image, nil) }
        let response = found.response
        if observers.isActive {
            observers.notify(prepared.request.url, .requested)
            observers.notify(prepared.request.url, .memoryHit)
            observers.notify(prepared.request.url, .delivered(.memory), with: response)
        }
        return (found.image, response)
    }

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
        guard isAskedFirst(for: task.interceptedRequest) else { return false }
        let isRead = request.readTiers.contains(.memory)
        let found = isRead ? hit(for: task) : nil
        if let hit = found, ends(request, hit) {
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
            // The image at another size is shown until it is loaded at the right size.
            if isRead, task.wantsPartialImages, let hit = hit(for: request, inAnySize: true, isRepeated: true) {
                task.reportNow(partial: hit.image.asPreview)
            }
        }
        return false
    }

    /// Ends a task that is about to join its job with an image that was stored since the task started.
    func servesBeforeJoining(_ task: ImageTask) -> Bool {
        guard let hit = hit(for: task, isRepeated: true), ends(task.request, hit) else { return false }
        observers.notify(task.request.url, .memoryHit, of: task)
        deliveryStage.deliver(hit.response, to: task)
        return true
    }

    /// Whether memory is asked before the interceptors of a request; yes without interceptors.
    private func isAskedFirst(for intercepted: ImageRequest?) -> Bool {
        intercepted.map { request in
            !context.dependencies.interceptors.contains { $0.interceptsMemoryHits(of: request) }
        } ?? true
    }

    /// The image in memory that answers a task. After a look, only an image that was stored since can answer it.
    private func hit(for task: ImageTask, isRepeated: Bool = false) -> MemoryHit? {
        let storeCount = memoryCache.storeCount
        guard task.storeCountAtLook.exchange(storeCount, ordering: .relaxed) != storeCount else {
            if !isRepeated { memoryCache.countMiss() }
            return nil
        }
        return hit(for: task.request, isRepeated: isRepeated)
    }

    /// The image in memory that answers a request.
    /// - Parameters:
    ///   - inAnySize: Whether the size does not matter yet, so that the largest image is best.
    ///   - isRepeated: Whether a miss is not counted, because another look of the same load counts it.
    func hit(for request: ImageRequest, inAnySize: Bool = false, isRepeated: Bool = false) -> MemoryHit? {
        let larger = request.largerVariants
        if inAnySize, let hit = hit(among: larger.reversed(), of: request, inAnySize: true) { return hit }
        if let entry = memoryCache.entry(for: request, inAnySize: inAnySize, isRepeated: isRepeated) {
            return MemoryHit(entry: entry, url: request.url)
        }
        guard inAnySize else { return hit(among: larger, of: request, inAnySize: false) }
        return hit(among: (0..<(request.variantRank ?? 0)).reversed(), of: request, inAnySize: true)
    }

    /// The first of several files of an image that memory has.
    private func hit(among files: some Collection<Int>, of request: ImageRequest, inAnySize: Bool) -> MemoryHit? {
        for rank in files {
            let file = request.reading(variant: rank)
            guard let entry = memoryCache.entry(for: file, inAnySize: inAnySize, isRepeated: true) else { continue }
            return MemoryHit(entry: entry, url: request.with(variant: rank).url)
        }
        return nil
    }

    /// Whether an image in memory ends a load. If not, the server is asked, because the request wants that or the
    /// response is stale (RFC 9111, section 4).
    private func ends(_ request: ImageRequest, _ hit: MemoryHit) -> Bool {
        let policy = request.cachePolicy
        guard !policy.revalidatesCachedImage else { return false }
        // The validators are in the disk cache.
        guard let time = hit.entry.terms?.staleTime, time < .infinity, policy.validatesStaleImage, dataCache != nil,
            request.readTiers.contains(.originals)
        else { return true }
        return time > clock.now.timeIntervalSince1970
    }
}
