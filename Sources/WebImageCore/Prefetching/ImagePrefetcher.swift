public import FoundationEssentials
import Synchronization

/// Loads images into the caches before they are shown: a few at a time, at the lowest priority, so that what is on
/// screen goes first.
///
/// It rests while the machine is offline, on a metered network, or saving power, and goes on after that. From any
/// thread.
public final class ImagePrefetcher: Sendable {
    private struct State {
        /// In the order in which they were asked for; those that are through drop out.
        var batches: [PrefetchTask] = []
        var runningCount = 0
        var isPaused = false
        var maximumConcurrentCount: Int
        var isConstrained = false
        var totals = PrefetchTotals()
        var onFinish: (@Sendable (URL, PrefetchTotals) -> Void)?
        /// A thread is starting loads, and looks again before it stops.
        var isStarting = false
    }

    /// What loads.
    public let manager: ImageManager
    private let ignoresNetworkStatus: Bool
    private let state: Mutex<State>
    private let networkObservation = Mutex<ObservationToken?>(nil)

    /// Makes a prefetcher.
    /// - Parameters:
    ///   - manager: What loads.
    ///   - maximumConcurrentCount: Loads at a time. Default: 3.
    ///   - ignoresNetworkStatus: Whether it goes on also on a metered network and while the machine saves power.
    ///     Default: no.
    public init(manager: ImageManager, maximumConcurrentCount: Int = 3, ignoresNetworkStatus: Bool = false) {
        self.manager = manager
        state = Mutex(State(maximumConcurrentCount: max(1, maximumConcurrentCount)))
        self.ignoresNetworkStatus = ignoresNetworkStatus
        let observation = manager.observeNetwork { [weak self] in self?.networkChanged($0) }
        networkObservation.withLock { $0 = observation }
        networkChanged(manager.networkStatus)
    }

    /// Whether nothing is started; what runs goes on. Default: no.
    public var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set {
            state.withLock { $0.isPaused = newValue }
            startMore()
        }
    }

    /// Loads at a time, at least 1.
    public var maximumConcurrentCount: Int {
        get { state.withLock { $0.maximumConcurrentCount } }
        set {
            state.withLock { $0.maximumConcurrentCount = max(1, newValue) }
            startMore()
        }
    }

    /// What was done in all batches so far.
    public var totals: PrefetchTotals { state.withLock { $0.totals } }

    /// Called after each image of any batch, with its URL. On the main loop. Default: nothing.
    public var onFinish: (@Sendable (URL, PrefetchTotals) -> Void)? {
        get { state.withLock { $0.onFinish } }
        set { state.withLock { $0.onFinish = newValue } }
    }

    /// Loads images at the size of their files.
    /// - Parameter urls: A URL that comes twice counts twice.
    /// - Returns: A handle to cancel them. Dropping it does not cancel them.
    @discardableResult
    public func prefetch(_ urls: [URL]) -> PrefetchTask {
        prefetch(urls) { _ in }
    }

    /// Loads images at the size of their files.
    /// - Parameters:
    ///   - urls: A URL that comes twice counts twice.
    ///   - destination: Where they are kept. Default: in memory and on disk.
    ///   - progress: Called after each, with the number of those that are through and of all. On the main loop.
    ///   - completion: Called once, when all are through or cancelled. On the main loop.
    @discardableResult
    public func prefetch(
        _ urls: [URL],
        to destination: PrefetchDestination = .memoryAndDisk,
        progress: (@Sendable (_ finished: Int, _ total: Int) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchResult) -> Void
    ) -> PrefetchTask {
        let requests = urls.map { url in
            var request = ImageRequest(url: url, priority: .veryLow)
            if destination == .disk {
                request.caching.store = []
                request.decodeSize = .fit(PixelSize(width: 16, height: 16))
            }
            return request
        }
        return prefetch(requests: requests, progress: progress, completion: completion)
    }

    /// Loads what requests ask for, at the priority that they say: the way to prefetch at the size at which images
    /// will be shown.
    @discardableResult
    public func prefetch(
        requests: [ImageRequest],
        progress: (@Sendable (_ finished: Int, _ total: Int) -> Void)? = nil,
        completion: @escaping @Sendable (PrefetchResult) -> Void
    ) -> PrefetchTask {
        state.withLock { $0.totals.requestedCount += requests.count }
        let task = PrefetchTask(
            requests,
            manager.dependencies.dispatcher,
            progress: progress,
            completion: completion,
            onEnd: { [weak self] in self?.count($0, $1) }
        )
        guard !requests.isEmpty else {
            task.finishIfDone()
            return task
        }
        state.withLock { $0.batches.append(task) }
        startMore()
        return task
    }

    /// Cancels everything.
    public func cancelAll() {
        for batch in state.withLock({ $0.batches }) { batch.cancel() }
    }

    private func count(_ url: URL, _ result: Result<ImageResponse, ImageError>) {
        let report = state.withLock { state -> (@Sendable () -> Void)? in
            switch result {
            case .success: state.totals.result.loadedCount += 1
            case .failure(let error): state.totals.result.count(error)
            }
            guard let onFinish = state.onFinish else { return nil }
            let totals = state.totals
            return { onFinish(url, totals) }
        }
        if let report { manager.dependencies.dispatcher.dispatch(report) }
    }

    private func networkChanged(_ status: NetworkStatus) {
        state.withLock { $0.isConstrained = !ignoresNetworkStatus && status.isConstrained }
        startMore()
    }

    /// Starts what there is room for. A load that ends within the call that started it does not start the next one from
    /// within itself: with a thousand images in memory the stack would not do.
    private func startMore() {
        let isFirst = state.withLock { state in
            defer { state.isStarting = true }
            return !state.isStarting
        }
        guard isFirst else { return }
        while let (batch, request) = next() { start(request, batch) }
    }

    private func next() -> (PrefetchTask, ImageRequest)? {
        state.withLock { state in
            while !state.isPaused, !state.isConstrained, state.runningCount < state.maximumConcurrentCount,
                let batch = state.batches.first
            {
                if let request = batch.takeNext() {
                    state.runningCount += 1
                    return (batch, request)
                }
                state.batches.removeFirst()
            }
            state.isStarting = false
            return nil
        }
    }

    private func start(_ request: ImageRequest, _ batch: PrefetchTask) {
        let number = batch.nextNumber()
        let task = manager.makeTask(
            for: request,
            on: InlineDispatcher(),
            handlers: .completion { result in
                batch.finish(number, request.url, result)
                self.state.withLock { $0.runningCount -= 1 }
                self.startMore()
            }
        )
        batch.started(number, task)
        task.start()
    }
}
