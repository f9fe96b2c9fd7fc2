public import FoundationEssentials
import Synchronization

/// The handle of a load of an image.
///
///     let task = picture.setImage(with: url)
///     let image = try await task.image
public typealias ImageTask = LoadTask<WebImage>

/// The handle of a load of bytes, which may be no image: see ``ImageManager/loadData(_:progress:completion:)``.
public typealias DataTask = LoadTask<Data>

/// What a task guards with its lock. No generic type, because looking one up takes a tenth of the time of a bind; calls
/// of generic functions from other modules are specialized.
struct LoadState {
    enum Phase {
        /// The pipeline does not have the task: it is not started, or its binding puts the image in place or loads through
        /// a child task.
        case idle
        case running
        /// The result is known and reported to observers, but not yet to callers.
        case finishing
        case finished(LoadEnding)
    }

    var request: ImageRequest
    /// The request that the manager's interceptors receive, boxed because it is rare; `nil` for a task that skips them.
    var intercepted: Box<ImageRequest>?
    /// Whether a binding has started the task.
    var isStarted = false
    var phase = Phase.idle
    var priority: ImagePriority
    var isCancelled = false
    /// The callbacks. They are released, with everything they capture, when the task finishes.
    var handlers: LoadHandlers?
    /// The callbacks of the binding that shows what the task loads. Its completion comes first, and completes the task.
    var presenter: LoadHandlers?
    /// Called after the handlers, for further callers of a binding and for all callers that await the response.
    var completions: [@Sendable (LoadEnding) -> Void] = []
    /// The newest progress.
    var progress: (received: Int64, expected: Int64?)?
    var deliversProgress = false
    /// The newest partial image that is not delivered yet.
    var partial: WebImage?
    /// Whether an image from the memory cache was shown at the start.
    var hasCachedImage = false
    /// The best preview that was shown.
    var preview = ImagePreview.none
    /// The loads of other URLs or attempts on behalf of this task.
    var children: [any AnyLoadTask] = []
    /// The task that this one is a child of, until the child ends.
    var parent: (any AnyLoadTask)?

    /// The callbacks for progress and partial images.
    var receiver: LoadHandlers? {
        get { presenter ?? handlers }
        set { if presenter == nil { handlers = newValue } else { presenter = newValue } }
    }

    var isFinished: Bool { if case .finished = phase { true } else { false } }
    var isRunning: Bool { if case .running = phase { true } else { false } }

    /// Whether the task can still be cancelled and adopt children.
    var isOpen: Bool {
        switch phase {
        case .idle, .running: !isCancelled
        case .finishing, .finished: false
        }
    }
}

/// The handle of one load, of an image (``ImageTask``) or of bytes (``DataTask``). You can cancel it, change its
/// priority and await its result, from any thread.
///
/// Releasing a task does not cancel its load. A finished task keeps its response, with the pixels or bytes, for as long as it exists.
public final class LoadTask<Content: Sendable>: Sendable {
    /// How a load ends.
    package typealias Ending = Result<LoadResponse<Content>, ImageError>

    /// The request that the task loads; once a widget has a size, the request that its manager has prepared for that size.
    public var request: ImageRequest { state.withLock { $0.request } }
    /// ``MemoryCache/storeCount`` at the last look; -1 before the first.
    let storeCountAtLook: Atomic<Int>
    /// A task keeps its pipeline alive.
    let pipeline: Pipeline
    let dispatcher: any CallbackDispatching
    let state: Mutex<LoadState>

    /// Creates a task that the pipeline does not know yet.
    /// - Parameters:
    ///   - pipeline: The pipeline that loads the image.
    ///   - dispatcher: Where the handlers and completions are called. Main-actor handlers need one that delivers on the
    ///     main thread.
    ///   - handlers: `nil` for a task whose callers add completions or await the response.
    init(_ prepared: PreparedRequest, pipeline: Pipeline, dispatcher: any CallbackDispatching, handlers: LoadHandlers?)
    {
        storeCountAtLook = Atomic(prepared.storeCountAtLook)
        self.pipeline = pipeline
        self.dispatcher = dispatcher
        let (request, intercepted) = (prepared.request, prepared.intercepted.map { Box($0) })
        state = Mutex(
            LoadState(request: request, intercepted: intercepted, priority: request.priority, handlers: handlers)
        )
    }

    /// The priority of the load. You can change it at any time. Default: the priority of the request.
    public var priority: ImagePriority {
        get { state.withLock { $0.priority } }
        set {
            let (isChanged, children) = state.withLock { state in
                defer { state.priority = newValue }
                // The pipeline reads the priority of a task when the task joins its job.
                return (state.priority != newValue && state.isRunning, state.children)
            }
            if isChanged { pipeline.intake.add(.updatePriority(self)) }
            for child in children { child.priority = newValue }
        }
    }

    /// Whether ``cancel()`` was called before the load ended.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether the load has ended. It is true when the completion is called.
    public var isFinished: Bool { state.withLock { $0.isFinished } }

    /// Ends the load with ``ImageError/Code/cancelled``, unless it has already ended. The completion is called later,
    /// never within this call.
    @_specialize(where Content == WebImage)
    public func cancel() {
        let (isOpen, isRunning, children) = state.withLock { state -> (Bool, Bool, [any AnyLoadTask]) in
            guard state.isOpen else { return (false, false, []) }
            state.isCancelled = true
            return (true, state.isRunning, state.children)
        }
        guard isOpen else { return }
        if isRunning { pipeline.intake.add(.cancel(self)) }
        for child in children { child.cancel() }
        dispatcher.dispatch { self.end(with: .failure(.cancelled(self.request.url))) }
    }
}

extension LoadTask where Content == WebImage {
    /// Creates the task of a binding, which starts it with ``start(_:for:)`` and completes it. It delivers on the main loop.
    package convenience init(
        binding request: ImageRequest,
        in pipeline: Pipeline,
        completion: (@MainActor @Sendable (ImageResult) -> Void)? = nil
    ) {
        self.init(
            PreparedRequest(request: request),
            pipeline: pipeline,
            dispatcher: pipeline.context.dependencies.dispatcher,
            handlers: completion.map { .mainActor(completion: $0) }
        )
    }

    /// Starts the load of a binding, or starts it again as a child after ``stop()``.
    /// - Parameter presenter: The callbacks of the binding. Its completion calls ``complete(_:)``.
    package func start(_ prepared: PreparedRequest, for presenter: LoadHandlers) {
        let isFirst = state.withLock { state in
            guard state.isOpen, !state.isStarted else { return false }
            (state.isStarted, state.request, state.presenter) = (true, prepared.request, presenter)
            state.intercepted = prepared.intercepted.map { Box($0) }
            return true
        }
        guard !isFirst else {
            storeCountAtLook.store(prepared.storeCountAtLook, ordering: .relaxed)
            return start()
        }
        let child = LoadTask(prepared, pipeline: pipeline, dispatcher: dispatcher, handlers: presenter)
        // A task that was cancelled does not have the callbacks of the binding.
        guard adopt(child) else { return presenter.completion(.failure(.cancelled(prepared.request.url))) }
        child.start()
    }

    /// Finishes the task of a binding within this call, on the main thread. Only the first call has an effect.
    package func complete(_ result: ImageResult) { end(with: result) }
}

// The start and end of a load.
extension LoadTask {
    /// Hands the task to the first stage of the pipeline. The handlers may be called within this call if it is made on
    /// their thread.
    @_specialize(where Content == WebImage)
    package func start() {
        pipeline.memoryStage.start(self)
    }

    /// Ends the load of a binding but not the task, which may start again: the widget was unmapped, or needs another
    /// image. The callbacks of the binding are not called.
    package func stop() {
        detach()
        let (wasRunning, children) = state.withLock { state in
            defer { if state.isRunning { state.phase = .idle } }
            return (state.isRunning, exchange(&state.children, with: []))
        }
        if wasRunning {
            pipeline.intake.add(.cancel(self))
            notifyEnd(.failure(.cancelled(request.url)))
        }
        for child in children {
            (child as? LoadTask)?.state.release { $0.handlers.take() }
            child.cancel()
        }
    }

    /// Drops the callbacks of the binding, which shows another image. The task ends without it.
    package func detach() { state.release { $0.presenter.take() } }

    /// Finishes the task within this call, which must be on the thread of its callbacks. Only the first call has an
    /// effect. The end of a load goes to the binding, if there is one, which calls this again.
    /// - Parameter isLoad: Whether the load has ended, which is ignored after ``stop()``.
    func end(with result: Ending, ofLoad isLoad: Bool = false) {
        let ended = state.withLock { state -> (wasRunning: Bool, isCancelled: Bool, presenter: LoadHandlers?)? in
            let wasRunning = state.isRunning
            if case .idle = state.phase, !isLoad {} else if !wasRunning { return nil }
            let presenter = state.presenter.take()
            state.phase = presenter == nil ? .finishing : .idle
            return (wasRunning, state.isCancelled, presenter)
        }
        guard let (wasRunning, isCancelled, presenter) = ended else { return }
        let result = isCancelled ? .failure(.cancelled(request.url)) : result
        // Observers come first: code that awaits the response continues as soon as the phase is `finished`.
        if wasRunning { notifyEnd(result) }
        let ending = LoadEnding(result)
        if let presenter, case .image(let result) = ending { return presenter.completion(result) }
        let before = state.withLock { state in
            var ended = LoadState(request: state.request, intercepted: state.intercepted, priority: state.priority)
            (ended.phase, ended.isCancelled) = (.finished(ending), state.isCancelled)
            return exchange(&state, with: ended)
        }
        for child in before.children { child.cancel() }
        if case .image(let result) = ending { before.handlers?.completion(result) }
        for completion in before.completions { completion(ending) }
        withExtendedLifetime(before) {}
    }

    private func notifyEnd(_ result: Ending) {
        let url = request.url
        switch result {
        case .success(let response):
            pipeline.observers.notify(url, .delivered(response.source), of: self, with: response as? ImageResponse)
        case .failure(let error):
            pipeline.observers.notify(url, error.isCancelled ? .cancelled : .failed(error), of: self)
        }
    }
}

// What the stages ask and report.
extension LoadTask {
    /// - Returns: Whether the task is to be loaded, because it was neither cancelled nor started before.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isCancelled, case .idle = state.phase else { return false }
            state.phase = .running
            return true
        }
    }

    var isLoading: Bool { state.withLock { $0.isRunning && !$0.isCancelled } }

    var interceptedRequest: ImageRequest? { state.withLock { $0.intercepted }?.value }

    /// Finishes the task in a later turn of its dispatcher.
    /// - Parameter isNow: Whether it is finished within this call if the caller is on the thread of the callbacks.
    func finish(_ result: Ending, isNow: Bool = false) {
        if isNow, dispatcher.isCurrent { return end(with: result, ofLoad: true) }
        pipeline.observers.notify(request.url, .awaitingDelivery, of: self)
        dispatcher.dispatch { self.end(with: result, ofLoad: true) }
    }
}
