import FoundationEssentials
import Synchronization

/// The handle of a batch of prefetched images. You may use it from any thread.
public final class PrefetchTask: Sendable {
    typealias Progress = @MainActor @Sendable (_ finished: Int, _ total: Int) -> Void
    typealias Completion = @MainActor @Sendable (PrefetchResult) -> Void
    typealias EndHandler = @Sendable (URL, Result<ImageResponse, ImageError>) -> Void

    fileprivate struct State {
        /// The requests that have not started, in reverse order.
        var waiting: [ImageRequest]
        var running: [UInt64: ImageTask] = [:]
        var serial = Serial()
        var result: PrefetchResult
        var isCancelled = false
        var priority: ImagePriority?
        /// The priority of the prefetcher, used if the batch has none.
        var sharedPriority: ImagePriority?
        var progress: Progress?
        var completion: Completion?
    }

    private let dispatcher: any CallbackDispatching
    /// Called when an image has finished, and when all have.
    private let onEnd: EndHandler
    private let onFinish: @Sendable () -> Void
    private let state: Mutex<State>

    init(
        _ requests: [ImageRequest],
        _ dispatcher: any CallbackDispatching,
        progress: Progress?,
        completion: @escaping Completion,
        onEnd: @escaping EndHandler,
        onFinish: @escaping @Sendable () -> Void
    ) {
        self.dispatcher = dispatcher
        (self.onEnd, self.onFinish) = (onEnd, onFinish)
        state = Mutex(
            State(
                waiting: requests.reversed(),
                result: PrefetchResult(requestedCount: requests.count),
                progress: progress,
                completion: completion
            )
        )
    }

    /// Whether all images have finished or were cancelled.
    public var isFinished: Bool { state.withLock { $0.result.isFinished } }

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

    /// The urgency of unfinished images, both waiting and loading. Default: `nil`, which uses the priority of the prefetcher or, if
    /// that is `nil`, of each request.
    public var priority: ImagePriority? {
        get { state.withLock { $0.priority } }
        set {
            state.withLock { $0.priority = newValue }
            applyPriority()
        }
    }

    func setPriorityOfPrefetcher(_ priority: ImagePriority?) {
        state.withLock { $0.sharedPriority = priority }
    }

    /// Applies the current priority to the running loads.
    func applyPriority() {
        for task in state.withLock({ $0.running.values }) { applyPriority(to: task) }
    }

    private func applyPriority(to task: ImageTask) {
        // Each task reads the current priority, so that the last of several concurrent changes wins.
        let priority = state.withLock { $0.priority ?? $0.sharedPriority }
        task.priority = priority ?? task.request.priority
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
        applyPriority(to: task)
        if isCancelled { task.cancel() }
    }

    func finish(_ number: UInt64, of url: URL, with result: Result<ImageResponse, ImageError>) {
        let report = state.withLock { state -> (@Sendable () -> Void)? in
            guard state.running.removeValue(forKey: number) != nil else { return nil }
            state.result.count(result)
            guard let progress = state.progress else { return nil }
            let counts = state.result
            return { MainActor.assumeIsolated { progress(counts.finishedCount, counts.requestedCount) } }
        }
        onEnd(url, result)
        if let report { dispatcher.dispatch(report) }
        finishIfDone()
    }

    func finishIfDone() {
        // Both closures leave the lock with the result, because releasing them may run code of the app.
        let ending = state.withLock { state -> (Completion, Progress?, PrefetchResult)? in
            guard state.result.isFinished, let completion = state.completion.take() else { return nil }
            return (completion, state.progress.take(), state.result)
        }
        defer { withExtendedLifetime(ending) {} }
        guard let (completion, _, result) = ending else { return }
        dispatcher.dispatch { MainActor.assumeIsolated { completion(result) } }
        onFinish()
    }
}

/// The caches that keep prefetched images.
public enum PrefetchDestination: Sendable {
    /// The disk cache and, for requests with a size, the memory cache, from which an image is shown at once. Without a disk cache,
    /// always the memory cache.
    case automatic
    /// Only the disk cache, for images that are shown later or at an unknown size. The image is decoded at a tiny size, only to
    /// check the file.
    case disk
}

/// The counts of a batch, or of all batches of a prefetcher.
public struct PrefetchResult: Sendable, Equatable {
    /// The number of images that were requested.
    public internal(set) var requestedCount: Int
    /// The number of images that are in the caches.
    public internal(set) var loadedCount: Int
    /// The number of images that failed to load.
    public internal(set) var failedCount: Int
    /// The number of images that were cancelled.
    public internal(set) var cancelledCount: Int

    package init(requestedCount: Int = 0, loadedCount: Int = 0, failedCount: Int = 0, cancelledCount: Int = 0) {
        self.requestedCount = requestedCount
        self.loadedCount = loadedCount
        self.failedCount = failedCount
        self.cancelledCount = cancelledCount
    }

    /// The number of images that have loaded, failed or been cancelled.
    public var finishedCount: Int { loadedCount + failedCount + cancelledCount }

    var isFinished: Bool { finishedCount == requestedCount }

    mutating func count(_ result: Result<ImageResponse, ImageError>) {
        switch result {
        case .success: loadedCount += 1
        case .failure(let error) where error.isCancelled: cancelledCount += 1
        case .failure: failedCount += 1
        }
    }
}
