import FoundationEssentials

/// Stage 1, on the caller's thread: the memory cache. A miss makes the task join the job of its image.
///
/// A bound widget looks into the memory cache before it starts a task, to show the image within the same call. It pays
/// for a second look here only when the first one found nothing.
final class MemoryStage: Sendable {
    private let dependencies: Pipeline.Dependencies
    private let memoryCache: any MemoryCaching
    private let observers: Observers<LoadTraceEvent>
    private let intake: GraphIntake
    private let fallback: FallbackStage
    private let delivery: DeliveryStage

    init(
        _ dependencies: Pipeline.Dependencies,
        intake: GraphIntake,
        fallback: FallbackStage,
        delivery: DeliveryStage
    ) {
        self.dependencies = dependencies
        memoryCache = dependencies.memoryCache
        observers = dependencies.observers
        self.intake = intake
        self.fallback = fallback
        self.delivery = delivery
    }

    func start(_ task: ImageTask) {
        guard task.begin() else { return }
        let request = task.request
        let reads = request.readTiers
        observers.notify(request.url, .queued)
        if reads.contains(.memory), let image = memoryCache.image(for: MemoryQuery(request)) {
            observers.notify(request.url, .memoryHit)
            guard request.cachePolicy.revalidatesCachedImage || dependencies.validates(image, for: request) else {
                delivery.deliverNow(ImageResponse(image: image, source: .memory, url: request.url), to: task)
                return
            }
            task.reportNow(partial: image)
        } else {
            observers.notify(request.url, .memoryMiss)
            if reads.contains(.memory) { showOtherSize(to: task) }
        }
        guard !request.url.absoluteString.isEmpty else {
            delivery.deliver(.failure(.invalidURL(request.url, "The URL is empty")), to: task)
            return
        }
        // The preview goes first, since it is smaller.
        fallback.startPreview(for: task)
        intake.add(.join(task))
    }

    /// Shows the image at another size until it is there at the right one.
    private func showOtherSize(to task: ImageTask) {
        guard task.wantsPartialImages else { return }
        let query = MemoryQuery(key: ImageKey(task.request), size: nil, acceptsLarger: true)
        if let image = memoryCache.image(for: query) {
            task.reportNow(partial: image.asPreview)
        }
    }
}
