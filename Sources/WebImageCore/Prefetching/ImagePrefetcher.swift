public import FoundationEssentials
import Synchronization

/// Loads images into the caches before they are shown. It loads a few at a time, URLs at the lowest
/// priority, so that visible images come first.
///
/// It pauses while the machine is offline, on a metered network, or saving power. A prefetcher that is released goes on until its
/// batches have finished; if the app has paused it, they are cancelled. It can be used from any thread.
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
        /// The prefetcher itself, as long as it has something to do that it begins without the app.
        var itself: ImagePrefetcher?
        /// Whether a thread is starting loads. That thread looks for more requests before it stops.
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
    ///   - ignoresNetworkStatus: Whether images are also prefetched on a metered network, while the machine saves power and
    ///     while it is offline, when they fail. Default: false.
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

    /// The urgency of all batches that have none of their own (``PrefetchTask/priority``). A change applies to loads that wait,
    /// to those under way and to later batches. Default: `nil`; URLs load at the lowest priority, and requests at theirs.
    ///
    ///     prefetcher.priority = .low
    ///
    /// An image that a widget waits for as well has the higher of both priorities.
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

    /// The handler that is called on the main loop with the URL of each finished image of any batch, and the counts of
    /// all batches so far. Default: none.
    public var onFinish: (@MainActor @Sendable (URL, PrefetchResult) -> Void)? {
        get { state.withLock { $0.onFinish } }
        set { state.release { exchange(&$0.onFinish, with: newValue) } }
    }

    /// Loads images into the caches.
    /// - Parameters:
    ///   - requests: URLs, which load at the lowest priority, or requests, each with its own priority. An image that occurs
    ///     twice counts twice.
    ///   - destination: The caches that keep the images. Default: memory and disk for requests with a
    ///     ``ImageRequest/decodeSize``, and the disk alone for others, where there is a disk cache.
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
    ///   - requests: URLs, which load at the lowest priority, or requests, each with its own priority. An image that occurs
    ///     twice counts twice.
    ///   - destination: The caches that keep the images. Default: memory and disk for requests with a
    ///     ``ImageRequest/decodeSize``, and the disk alone for others, where there is a disk cache.
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
        // At which size the image will be shown is not known, and that of its file may be fifty times as large.
        if destination == .disk || request.decodeSize == nil && manager.dependencies.dataCache != nil {
            request.cacheAccess.writes.subtract([.memory, .renditions])
            request.variantSize = request.resolvedDecodeSize
            request.decodeSize = .contain(PixelSize(width: 16, height: 16))
            // Nobody sees the image, and a transformer may fail on one that is so small.
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

    /// Starts loads up to the maximum number. A load that finishes within the call that started it does not start the
    /// next one recursively: a thousand images in memory would overflow the stack.
    private func startMore() {
        let isFirst = state.withLock { state in
            defer { state.isStarting = true }
            return !state.isStarting
        }
        guard isFirst else { return }
        while let (batch, request) = next() { start(request, batch) }
        keepItself()
    }

    /// Keeps the prefetcher alive while batches wait for the network.
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
                // Those that the app has cancelled.
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
            handlers: .completion { result in
                batch.finish(number, of: request.url, with: result)
                self.state.withLock { state in
                    state.runningCount -= 1
                    // Those whose last load runs can still be cancelled and change their priority.
                    if batch.isFinished { state.batches.removeAll { $0 === batch } }
                }
                self.startMore()
            }
        )
        batch.started(number, task)
        task.start()
    }
}
