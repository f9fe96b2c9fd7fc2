public import FoundationEssentials
import Synchronization

/// The bytes of a URL, and where they came from: see ``ImageManager/data(for:)``.
public struct DataResponse: Sendable {
    /// The bytes as they were loaded, which may be no image.
    public let data: Data
    /// The place that the bytes came from. It is never the memory cache, which has pixels.
    public let source: ImageResponse.Source
    /// The URL that was requested, not one that it redirects to.
    public let url: URL
    /// The head of what the server has answered to this load, as ``ImageResponse/head``.
    public var head: ResponseHead?
    /// The times and sizes of the transfer, if there was one.
    public var metrics: TransferMetrics?
    /// The error that kept the cached bytes from being revalidated. They may be stale.
    public var refreshError: ImageError?

    init(data: Data, source: ImageResponse.Source, url: URL) {
        self.data = data
        self.source = source
        self.url = url
    }
}

/// The handle of a load of bytes: it can be cancelled, made more or less urgent, and awaited. It can be used from any thread.
///
/// Releasing a task does not cancel its load. A finished task keeps its bytes for as long as it exists.
public final class DataTask: Sendable {
    typealias Completion = @Sendable (Result<DataResponse, ImageError>) -> Void

    private struct State {
        var priority: ImagePriority
        /// What is loaded: the request, or after it failed one of its fallbacks.
        var current: ImageRequest
        /// Why that is a fallback, with all that was tried before.
        var earlier: ImageError?
        var isStarted = false
        var isCancelled = false
        /// Set by the first who ends the task, before its callers hear of it.
        var isFinishing = false
        var result: Result<DataResponse, ImageError>?
        var onProgress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
        var completions: [Completion] = []
        /// The newest progress, while it is still to be delivered.
        var progress: (received: Int64, expected: Int64?)?
    }

    /// The request that is loaded.
    public let request: ImageRequest
    /// A task keeps its pipeline alive.
    private let pipeline: Pipeline
    private let dispatcher: any CallbackDispatching
    private let state: Mutex<State>

    init(
        request: ImageRequest,
        pipeline: Pipeline,
        dispatcher: any CallbackDispatching,
        onProgress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?,
        completion: Completion?
    ) {
        self.request = request
        self.pipeline = pipeline
        self.dispatcher = dispatcher
        var state = State(priority: request.priority, current: request)
        state.onProgress = onProgress
        if let completion { state.completions.append(completion) }
        self.state = Mutex(state)
    }

    /// The urgency of the load; it may change at any time. Default: that of the request.
    public var priority: ImagePriority {
        get { state.withLock { $0.priority } }
        set {
            let isChanged = state.withLock { state in
                defer { state.priority = newValue }
                return state.priority != newValue && state.isStarted && !state.isFinishing
            }
            if isChanged { pipeline.updatePriority(of: self) }
        }
    }

    /// Whether ``cancel()`` was called before the load ended.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether the load has ended. It is true by the time the completion is called.
    public var isFinished: Bool { state.withLock { $0.result != nil } }

    /// Ends the load with ``ImageError/Code/cancelled``, unless it has ended. The completion is called later, never within this call.
    public func cancel() {
        let (isOpen, isStarted) = state.withLock { state in
            guard !state.isFinishing, !state.isCancelled else { return (false, false) }
            state.isCancelled = true
            return (true, state.isStarted)
        }
        guard isOpen else { return }
        if isStarted { pipeline.cancel(self) }
        finish(.failure(.cancelled(request.url)))
    }

    /// The response, once the load has ended. Cancelling the awaiting Swift task cancels the load, for all who await it.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public var response: DataResponse {
        get async throws(ImageError) {
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    addCompletion { continuation.resume(returning: $0) }
                }
            } onCancel: {
                cancel()
            }
            return try result.get()
        }
    }

    /// The bytes, once the load has ended: those of the ``response``.
    /// - Throws: ``ImageError``, with the code ``ImageError/Code/cancelled`` when the load was cancelled.
    public var data: Data {
        get async throws(ImageError) { try await response.data }
    }

    private func addCompletion(_ completion: @escaping Completion) {
        let result = state.withLock { state in
            if state.result == nil { state.completions.append(completion) }
            return state.result
        }
        if let result { completion(result) }
    }
}

// What the pipeline calls.
extension DataTask {
    /// What is loaded now.
    var current: ImageRequest { state.withLock { $0.current } }

    /// Hands the task to its pipeline, unless it was cancelled.
    /// - Parameters:
    ///   - request: What is loaded in the place of the task's request, which has failed. Default: that request.
    ///   - error: Why what was loaded before has failed.
    func start(with request: ImageRequest? = nil, after error: ImageError? = nil) {
        let isOpen = state.withLock { state in
            guard !state.isCancelled else { return false }
            if let request { state.current = request }
            if let error { state.earlier = error.following(state.earlier) }
            state.isStarted = true
            return true
        }
        if isOpen { pipeline.start(self) }
    }

    func report(received: Int64, expected: Int64?) {
        let isFirst = state.withLock { state in
            guard state.onProgress != nil else { return false }
            defer { state.progress = (received, expected) }
            return state.progress == nil
        }
        guard isFirst else { return }
        dispatcher.dispatch {
            let (progress, onProgress) = self.state.withLock { state in
                (state.progress.take(), state.isCancelled ? nil : state.onProgress)
            }
            if let progress { onProgress?(progress.received, progress.expected) }
        }
    }

    /// Finishes the task in a later turn of its dispatcher. Only the first call counts.
    func finish(_ result: Result<DataResponse, ImageError>) {
        let result = result.mapError { $0.following(state.withLock { $0.earlier }) }
        dispatcher.dispatch { self.complete(result) }
    }

    private func complete(_ result: Result<DataResponse, ImageError>) {
        let ending = state.withLock { state -> (result: Result<DataResponse, ImageError>, wasStarted: Bool)? in
            guard !state.isFinishing else { return nil }
            state.isFinishing = true
            return (state.isCancelled ? .failure(.cancelled(request.url)) : result, state.isStarted)
        }
        guard let (result, wasStarted) = ending else { return }
        // Observers come first: code that awaits the response continues as soon as there is a result.
        if wasStarted { pipeline.taskDidFinish(self, with: result) }
        let (completions, onProgress) = state.withLock { state in
            state.result = result
            defer { (state.onProgress, state.completions, state.progress) = (nil, [], nil) }
            return (state.completions, state.onProgress)
        }
        for completion in completions { completion(result) }
        withExtendedLifetime(onProgress) {}
    }
}
