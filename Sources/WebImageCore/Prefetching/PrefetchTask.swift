import FoundationEssentials
import Synchronization

/// The handle of one batch of prefetched images. It can be used from any thread.
public final class PrefetchTask: Sendable {
    typealias Progress = @Sendable (_ finished: Int, _ total: Int) -> Void
    typealias Completion = @Sendable (PrefetchResult) -> Void

    fileprivate struct State {
        /// The requests that have not started, in reverse order.
        var waiting: [ImageRequest]
        var running: [UInt64: ImageTask] = [:]
        var serial = Serial()
        var result = PrefetchResult()
        var isCancelled = false
        var progress: Progress?
        var completion: Completion?
    }

    private let total: Int
    private let dispatcher: any CallbackDispatching
    /// The handler that is called when an image has finished.
    private let onEnd: @Sendable (URL, Result<ImageResponse, ImageError>) -> Void
    private let state: Mutex<State>

    init(
        _ requests: [ImageRequest],
        _ dispatcher: any CallbackDispatching,
        progress: Progress?,
        completion: @escaping Completion,
        onEnd: @escaping @Sendable (URL, Result<ImageResponse, ImageError>) -> Void
    ) {
        total = requests.count
        self.dispatcher = dispatcher
        self.onEnd = onEnd
        state = Mutex(State(waiting: requests.reversed(), progress: progress, completion: completion))
    }

    /// Whether all images have finished or were cancelled.
    public var isFinished: Bool { state.withLock { $0.isFinished(total) } }

    /// Cancels the images that have not finished, and calls the completion. A finished batch does not change.
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

    func nextNumber() -> UInt64 {
        state.withLock { $0.serial.next() }
    }

    func started(_ number: UInt64, _ task: ImageTask) {
        let isCancelled = state.withLock { state in
            state.running[number] = task
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    func finish(_ number: UInt64, _ url: URL, _ result: Result<ImageResponse, ImageError>) {
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
        // Both closures leave, so that they are released with the lock free.
        let ending = state.withLock { state -> (Completion, Progress?, PrefetchResult)? in
            guard state.isFinished(total), let completion = state.completion.take() else { return nil }
            return (completion, state.progress.take(), state.result)
        }
        guard let (completion, _, result) = ending else { return }
        dispatcher.dispatch { completion(result) }
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

/// The caches that keep prefetched images.
public enum PrefetchDestination: Sendable {
    /// The memory cache, from which an image is shown at once, and the disk cache.
    case memoryAndDisk
    /// The disk cache alone, for images that are shown later or at a size that is not known yet. This costs no
    /// memory, and only the time to check that the file is an image.
    case disk
}

/// The result of a batch. The counts add up to the number of URLs.
public struct PrefetchResult: Sendable, Equatable {
    /// The number of images that are in the caches.
    public var loadedCount: Int
    /// The number of images that failed to load.
    public var failedCount: Int
    /// The number of images that were cancelled.
    public var cancelledCount: Int

    /// Makes a result.
    public init(loadedCount: Int = 0, failedCount: Int = 0, cancelledCount: Int = 0) {
        self.loadedCount = loadedCount
        self.failedCount = failedCount
        self.cancelledCount = cancelledCount
    }
}

/// The counts of all batches of a prefetcher.
public struct PrefetchTotals: Sendable, Equatable {
    /// The number of images that were requested.
    public var requestedCount = 0
    /// The results of the images that have finished.
    public var result = PrefetchResult()

    /// The number of images that have finished.
    public var finishedCount: Int { result.count }

    /// Makes totals of zero.
    public init() {}
}
