public import FoundationEssentials
import Synchronization

/// Loads images into the caches before they are shown. It loads a few at a time, and URLs at the lowest priority, so that visible
/// images come first.
///
/// It pauses while the machine is offline, on a metered network, or saving power. If you release it, its batches continue until
/// they have finished; if it is suspended, they are cancelled. You may use it from any thread.
public final class ImagePrefetcher: Sendable {
    private struct State {
        /// The unfinished batches, in the order in which they were requested.
        var batches: [PrefetchTask] = []
        var runningCount = 0
        var isSuspended = false
        var maximumConcurrentCount: Int
        var isConstrained = false
        var priority: ImagePriority?
        var totals = PrefetchResult()
        var onFinish: (@MainActor @Sendable (URL, PrefetchResult) -> Void)?
        /// A reference to the prefetcher while unfinished batches need it.
        var itself: ImagePrefetcher?
        /// Whether a thread is starting loads. That thread checks for more requests before it stops.
        var isStarting = false
    }

    /// The manager that loads the images.
    package let manager: ImageManager
    private let ignoresNetworkStatus: Bool
    private let state: Mutex<State>
    private let networkObservation = Mutex<ObservationToken?>(nil)

    /// Makes a prefetcher.
    /// - Parameters:
    ///   - manager: The manager that loads the images.
    ///   - maximumConcurrentCount: The number of loads at a time. Default: 3.
    ///   - ignoresNetworkStatus: Whether to prefetch on a metered network, while the machine saves power, and while it is offline,
    ///     where loads fail. Default: false.
    public init(manager: ImageManager, maximumConcurrentCount: Int = 3, ignoresNetworkStatus: Bool = false) {
        self.manager = manager
        state = Mutex(State(maximumConcurrentCount: max(1, maximumConcurrentCount)))
        self.ignoresNetworkStatus = ignoresNetworkStatus
        let observation = manager.observeNetwork { [weak self] in self?.networkChanged($0) }
        networkObservation.withLock { $0 = observation }
        networkChanged(manager.networkStatus)
    }

    deinit {
        for batch in state.withLock({ $0.batches }) { batch.cancel() }
    }

    /// Whether no further loads start. Loads in flight continue. Default: false.
    public var isSuspended: Bool {
        get { state.withLock { $0.isSuspended } }
        set {
            state.withLock { $0.isSuspended = newValue }
            startMore()
        }
    }

    /// The number of loads at a time, at least 1.
    public var maximumConcurrentCount: Int {
        get { state.withLock { $0.maximumConcurrentCount } }
        set {
            state.withLock { $0.maximumConcurrentCount = max(1, newValue) }
            startMore()
        }
    }

    /// The urgency of all batches without their own ``PrefetchTask/priority``. A change applies to waiting loads, running loads and
    /// later batches. Default: `nil`; URLs load at the lowest priority, requests at their own.
    ///
    ///     prefetcher.priority = .low
    ///
    /// If a widget waits for the same image, the higher priority applies.
    public var priority: ImagePriority? {
        get { state.withLock { $0.priority } }
        set {
            let batches = state.withLock { state in
                state.priority = newValue
                for batch in state.batches { batch.setPriorityOfPrefetcher(newValue) }
                return state.batches
            }
            for batch in batches { batch.applyPriority() }
        }
    }

    /// The counts of all batches so far.
    public var totals: PrefetchResult { state.withLock { $0.totals } }

    /// A handler that runs on the main loop after each finished image of any batch, with the URL of the image and the counts of all
    /// batches so far. Default: none.
    public var onFinish: (@MainActor @Sendable (URL, PrefetchResult) -> Void)? {
        get { state.withLock { $0.onFinish } }
        set { state.release { exchange(&$0.onFinish, with: newValue) } }
    }

    /// Loads images into the caches.
    /// - Parameters:
    ///   - requests: URLs, which load at the lowest priority, or requests, which load at their own. Duplicates count twice.
    ///   - destination: The caches that keep the images. Default: memory and disk for requests with a ``ImageRequest/decodeSize``;
    ///     only disk for others, if there is a disk cache.
    /// - Returns: A handle to cancel the batch. Releasing it does not cancel the batch.
    @discardableResult
    public func prefetch<Request: ImageRequestConvertible>(
        _ requests: some Sequence<Request>,
        to destination: PrefetchDestination = .automatic
    ) -> PrefetchTask {
        prefetch(requests, to: destination) { _ in }
    }

    /// Loads images into the caches, and reports on the main loop.
    /// - Parameters:
    ///   - requests: URLs, which load at the lowest priority, or requests, which load at their own. Duplicates count twice.
    ///   - destination: The caches that keep the images. Default: memory and disk for requests with a ``ImageRequest/decodeSize``;
    ///     only disk for others, if there is a disk cache.
    ///   - progress: Called after each image, with the number of finished images and the total. Default: none.
    ///   - completion: Called once all images have finished or were cancelled.
    /// - Returns: A handle to cancel the batch. Releasing it does not cancel the batch.
    @discardableResult
    public func prefetch<Request: ImageRequestConvertible>(
        _ requests: some Sequence<Request>,
        to destination: PrefetchDestination = .automatic,
        progress: (@MainActor @Sendable (_ finished: Int, _ total: Int) -> Void)? = nil,
        completion: @escaping @MainActor @Sendable (PrefetchResult) -> Void
    ) -> PrefetchTask {
        let requests = requests.map { request($0, to: destination) }
        state.withLock { $0.totals.requestedCount += requests.count }
        let task = PrefetchTask(
            requests,
            manager.dependencies.dispatcher,
            progress: progress,
            completion: completion,
            onEnd: { [weak self] in self?.count($0, $1) },
            onFinish: { [weak self] in self?.keepItself() }
        )
        guard !requests.isEmpty else {
            task.finishIfDone()
            return task
        }
        state.withLock { state in
            task.setPriorityOfPrefetcher(state.priority)
            state.batches.append(task)
        }
        startMore()
        return task
    }

    private func request(
        _ source: some ImageRequestConvertible,
        to destination: PrefetchDestination
    ) -> ImageRequest {
        var request = source.imageRequest
        if source is URL { request.priority = .veryLow }
        // The size at which the image will be shown is unknown, and the full size may need fifty times the memory.
        if destination == .disk || request.decodeSize == nil && manager.dependencies.dataCache != nil {
            request.cacheAccess.writes.subtract([.memory, .renditions])
            request.variantSize = request.resolvedDecodeSize
            request.decodeSize = .contain(PixelSize(width: 16, height: 16))
            // The image is not shown, and a transformer may fail on so small an image.
            request.transformer = nil
        }
        return request
    }

    /// Cancels all batches.
    public func cancelAll() {
        for batch in state.withLock({ $0.batches }) { batch.cancel() }
    }

    private func count(_ url: URL, _ result: Result<ImageResponse, ImageError>) {
        let report = state.withLock { state -> (@Sendable () -> Void)? in
            state.totals.count(result)
            guard let onFinish = state.onFinish else { return nil }
            let totals = state.totals
            return { MainActor.assumeIsolated { onFinish(url, totals) } }
        }
        if let report { manager.dependencies.dispatcher.dispatch(report) }
    }

    private func networkChanged(_ status: ImageNetworkStatus) {
        state.withLock { $0.isConstrained = !ignoresNetworkStatus && status.isConstrained }
        startMore()
    }

    /// Starts loads up to the maximum number. A load that finishes synchronously must not start the next one recursively: a
    /// thousand images in memory would overflow the stack.
    private func startMore() {
        let isFirst = state.withLock { state in
            defer { state.isStarting = true }
            return !state.isStarting
        }
        guard isFirst else { return }
        while let (batch, request) = next() { start(request, batch) }
        keepItself()
    }

    /// Keeps the prefetcher alive while it has unfinished batches and is not suspended.
    private func keepItself() {
        let released = state.withLock { state -> ImagePrefetcher? in
            state.batches.removeAll(where: \.isFinished)
            return exchange(&state.itself, with: state.batches.isEmpty || state.isSuspended ? nil : self)
        }
        // This may be the last reference.
        withExtendedLifetime(released) {}
    }

    private func next() -> (PrefetchTask, ImageRequest)? {
        state.withLock { state in
            if !state.isSuspended, !state.isConstrained, state.runningCount < state.maximumConcurrentCount {
                // Cancelled batches are finished.
                state.batches.removeAll(where: \.isFinished)
                for batch in state.batches {
                    guard let request = batch.takeNext() else { continue }
                    state.runningCount += 1
                    return (batch, request)
                }
            }
            state.isStarting = false
            return nil
        }
    }

    private func start(_ request: ImageRequest, _ batch: PrefetchTask) {
        let number = batch.nextNumber()
        let task: ImageTask = manager.makeTask(
            for: request,
            on: InlineDispatcher(),
            handlers: LoadHandlers { result in
                batch.finish(number, of: request.url, with: result)
                self.state.withLock { state in
                    state.runningCount -= 1
                    // A batch stays in the list during its last load, which can still be cancelled or change its priority.
                    if batch.isFinished { state.batches.removeAll { $0 === batch } }
                }
                self.startMore()
            }
        )
        batch.started(number, task)
        task.start()
    }
}
