import FoundationEssentials
import Synchronization

/// A batch of images that are being prefetched.
public final class PrefetchTask: Sendable {
    fileprivate struct State {
        /// The next one last.
        var waiting: [ImageRequest]
        var running: [Int: ImageTask] = [:]
        var lastNumber = 0
        var result = PrefetchResult()
        var isCancelled = false
        var progress: (@Sendable (Int, Int) -> Void)?
        var completion: (@Sendable (PrefetchResult) -> Void)?
    }

    private let total: Int
    private let dispatcher: any CallbackDispatching
    /// Told of the end of each image.
    private let onEnd: @Sendable (URL, Result<ImageResponse, ImageError>) -> Void
    private let state: Mutex<State>

    init(
        _ requests: [ImageRequest],
        _ dispatcher: any CallbackDispatching,
        progress: (@Sendable (Int, Int) -> Void)?,
        completion: (@Sendable (PrefetchResult) -> Void)?,
        onEnd: @escaping @Sendable (URL, Result<ImageResponse, ImageError>) -> Void
    ) {
        total = requests.count
        self.dispatcher = dispatcher
        self.onEnd = onEnd
        state = Mutex(State(waiting: requests.reversed(), progress: progress, completion: completion))
    }

    /// Whether all are through or cancelled.
    public var isFinished: Bool { state.withLock { $0.isFinished(total) } }

    /// Ends what has not ended; the completion is called. Harmless when all is through.
    public func cancel() {
        let (running, dropped) = state.withLock { state in
            let dropped = state.waiting
            state.result.cancelledCount += dropped.count
            state.waiting = []
            state.isCancelled = true
            return (state.running.values, dropped)
        }
        for request in dropped.reversed() { onEnd(request.url, .failure(.cancelled(request.url))) }
        for task in running { task.cancel() }
        finishIfDone()
    }

    func takeNext() -> ImageRequest? {
        state.withLock { $0.waiting.popLast() }
    }

    func nextNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    func started(_ number: Int, _ task: ImageTask) {
        let isCancelled = state.withLock { state in
            state.running[number] = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func finish(_ number: Int, _ url: URL, _ result: Result<ImageResponse, ImageError>) {
        let total = total
        let report = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.running.removeValue(forKey: number) != nil else { return nil }
            switch result {
            case .success: state.result.loadedCount += 1
            case .failure(let error): state.result.count(error)
            }
            guard let progress = state.progress else { return nil }
            let count = state.result.count
            return { progress(count, total) }
        }
        onEnd(url, result)
        if let report { dispatcher.dispatch(report) }
        finishIfDone()
    }

    func finishIfDone() {
        let total = total
        let report = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.isFinished(total), let completion = state.completion.take() else { return nil }
            state.progress = nil
            let result = state.result
            return { completion(result) }
        }
        if let report { dispatcher.dispatch(report) }
    }
}

extension PrefetchTask.State {
    fileprivate func isFinished(_ total: Int) -> Bool { result.count == total }
}

extension PrefetchResult {
    var count: Int { loadedCount + failedCount + cancelledCount }

    mutating func count(_ error: ImageError) {
        if error.isCancelled { cancelledCount += 1 } else { failedCount += 1 }
    }
}

/// Where prefetched images are kept.
public enum PrefetchDestination: Sendable {
    /// In memory, ready to be shown, and on disk.
    case memoryAndDisk
    /// On disk only: for what will be shown later, or at a size that is not known yet. Takes no memory, and little time
    /// to check that it is an image.
    case disk
}

/// How a batch of prefetched images ended. The numbers add up to that of the URLs.
public struct PrefetchResult: Sendable, Equatable {
    /// Images that are in the caches now.
    public var loadedCount: Int
    /// Images that could not be loaded.
    public var failedCount: Int
    /// Images that were cancelled.
    public var cancelledCount: Int

    /// Makes a result.
    public init(loadedCount: Int = 0, failedCount: Int = 0, cancelledCount: Int = 0) {
        self.loadedCount = loadedCount
        self.failedCount = failedCount
        self.cancelledCount = cancelledCount
    }
}

/// What a prefetcher has done in all its batches so far, told after each image.
public struct PrefetchTotals: Sendable, Equatable {
    /// Images that were asked for.
    public var requestedCount = 0
    /// How those ended that have.
    public var result = PrefetchResult()

    /// Images that are through.
    public var finishedCount: Int { result.count }

    /// Makes totals of zero.
    public init() {}
}
