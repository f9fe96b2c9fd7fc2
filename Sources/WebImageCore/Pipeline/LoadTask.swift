public import FoundationEssentials
import Synchronization

/// The handle of a load of an image.
///
///     let task = picture.setImage(with: url)
///     let image = try await task.image
public typealias ImageTask = LoadTask<WebImage>

/// The handle of a load of bytes, which may be no image: see ``ImageManager/loadData(_:progress:completion:)``.
public typealias DataTask = LoadTask<Data>

/// The handle of one load, of an image (``ImageTask``) or of bytes (``DataTask``). You can cancel it, change its
/// priority and await its result, from any thread.
///
/// Releasing a task does not cancel its load. A finished task keeps its response, with the pixels or bytes, for as long as it exists.
public final class LoadTask<Content: Sendable>: Sendable {
    // Generic code looks up types in each call, a fifth of the time of a bind, so calls from other modules are specialized.

    /// How a load ends.
    package typealias Ending = Result<LoadResponse<Content>, ImageError>

    private enum Phase {
        /// The pipeline has not seen the task. The task of a bound widget stays in this phase until its binding
        /// completes it: the binding loads through child tasks, once the widget is mapped and again after a retry.
        case unstarted
        case running
        /// The result is known and reported to observers, but not yet to callers.
        case finishing
        case finished(Ending)
    }

    private struct State {
        var phase = Phase.unstarted
        var priority: ImagePriority
        var isCancelled = false
        /// The callbacks. They are released, with everything they capture, when the task finishes.
        var handlers: LoadHandlers?
        /// Called after the handlers, for further callers of a binding and for all callers that await the response.
        var completions: [@Sendable (Ending) -> Void] = []
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
        var children: [LoadTask] = []
        /// The task that this one is a child of, until the child ends.
        var parent: LoadTask?
        /// How often the children were cancelled in order to be replaced.
        var childGeneration = 0

        var isFinished: Bool {
            if case .finished = phase { true } else { false }
        }

        var isRunning: Bool {
            if case .running = phase { true } else { false }
        }

        /// Whether the task can still be cancelled and adopt children.
        var isOpen: Bool {
            switch phase {
            case .unstarted, .running: !isCancelled
            case .finishing, .finished: false
            }
        }
    }

    /// The request that the task loads.
    public let request: ImageRequest
    /// The request that the manager's interceptors receive, boxed because it is rare; `nil` for a task that skips them.
    private let intercepted: Box<ImageRequest>?
    /// ``MemoryCache/storeCount`` at the last look; -1 before the first.
    let storeCountAtLook: Atomic<Int>
    /// A task keeps its pipeline alive.
    private let pipeline: Pipeline
    private let dispatcher: any CallbackDispatching
    private let state: Mutex<State>

    /// Creates a task that the pipeline does not know yet.
    /// - Parameters:
    ///   - pipeline: The pipeline that loads the image.
    ///   - dispatcher: Where the handlers and completions are called. Main-actor handlers need one that delivers on the
    ///     main thread.
    ///   - handlers: `nil` for a task whose callers add completions or await the response.
    init(_ prepared: PreparedRequest, pipeline: Pipeline, dispatcher: any CallbackDispatching, handlers: LoadHandlers?)
    {
        request = prepared.request
        intercepted = prepared.intercepted.map { Box($0) }
        storeCountAtLook = Atomic(prepared.storeCountAtLook)
        self.pipeline = pipeline
        self.dispatcher = dispatcher
        state = Mutex(State(priority: request.priority, handlers: handlers))
    }

    /// The priority of the load. You can change it at any time. Default: the priority of the request.
    public var priority: ImagePriority {
        @_specialize(where Content == WebImage)
        get { state.withLock { $0.priority } }
        @_specialize(where Content == WebImage)
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
    public var isCancelled: Bool {
        @_specialize(where Content == WebImage)
        get { state.withLock { $0.isCancelled } }
    }

    /// Whether the load has ended. It is true when the completion is called.
    public var isFinished: Bool {
        @_specialize(where Content == WebImage)
        get { state.withLock { $0.isFinished } }
    }

    /// Ends the load with ``ImageError/Code/cancelled``, unless it has already ended. The completion is called later,
    /// never within this call.
    @_specialize(where Content == WebImage)
    public func cancel() {
        let (isOpen, isRunning, children) = state.withLock { state -> (Bool, Bool, [LoadTask]) in
            guard state.isOpen else { return (false, false, []) }
            state.isCancelled = true
            return (true, state.isRunning, state.children)
        }
        guard isOpen else { return }
        if isRunning { pipeline.intake.add(.cancel(self)) }
        for child in children { child.cancel() }
        dispatcher.dispatch { self.end(with: .failure(.cancelled(self.request.url))) }
    }

    /// The response, once the load has ended. Cancelling the awaiting Swift task cancels the load for all callers that
    /// await it.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var response: LoadResponse<Content> {
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
}

extension LoadTask where Content == WebImage {
    /// Creates the task of a binding. It is never started: it loads through children, whose requests may differ, and
    /// the binding completes it. It delivers on the main loop.
    package convenience init(
        parentFor request: ImageRequest,
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

    /// Finishes the task of a binding within this call, on the main thread. Only the first call has an effect.
    package func complete(_ result: ImageResult) { end(with: result) }

    /// The image of the ``response``, once the load has ended.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var image: WebImage {
        get async throws(ImageError) { try await response.image }
    }
}

extension LoadTask where Content == Data {
    /// The bytes of the ``response``, once the load has ended.
    /// - Throws: ``ImageError``. Its code is ``ImageError/Code/cancelled`` if the load was cancelled.
    public var data: Data {
        get async throws(ImageError) { try await response.data }
    }
}

// The start and end of a load, and its child tasks: bindings load through children and end when the image is in place.
extension LoadTask {
    /// Hands the task to the first stage of the pipeline. The handlers may be called within this call if it is made on
    /// their thread.
    @_specialize(where Content == WebImage)
    package func start() {
        pipeline.memoryStage.start(self)
    }

    /// Adds a completion. It is called within this call if the task has finished, else by the task's dispatcher after
    /// the earlier completions.
    @_specialize(where Content == WebImage)
    package func addCompletion(_ completion: @escaping @Sendable (Ending) -> Void) {
        let result = state.withLock { state -> Ending? in
            if case .finished(let result) = state.phase { return result }
            state.completions.append(completion)
            return nil
        }
        if let result { completion(result) }
    }

    /// Makes another load part of this one: the child takes over the priority of this task and is cancelled when this task ends.
    /// - Returns: `false` if this task has finished or was cancelled; the child must not be started then.
    @_specialize(where Content == WebImage)
    package func adopt(_ child: LoadTask) -> Bool {
        let priority = state.withLock { state -> ImagePriority? in
            guard state.isOpen else { return nil }
            state.children.append(child)
            return state.priority
        }
        guard let priority else { return false }
        child.state.withLock { $0.parent = self }
        child.priority = priority
        return true
    }

    /// The outermost parent: the task that the caller holds.
    var root: LoadTask {
        var task = self
        while let parent = task.state.withLock({ $0.parent }) { task = parent }
        return task
    }

    /// Creates the task of another request, which reports on the threads of the pipeline.
    func makeChild(_ request: ImageRequest, _ handlers: LoadHandlers?) -> LoadTask {
        LoadTask(
            PreparedRequest(request: request),
            pipeline: pipeline,
            dispatcher: InlineDispatcher(),
            handlers: handlers
        )
    }

    /// Drops a child that has ended.
    func disown(_ child: LoadTask) {
        state.release { state in exchange(&state.children, with: state.children.filter { $0 !== child }) }
    }

    /// Handlers of a child that reports its progress and partial images to this task. Partial images are decoded only
    /// if there is a handler for them.
    var forwarding: LoadHandlers {
        let partial: @Sendable (WebImage) -> Void = { self.report(partial: $0) }
        return .nonisolated(
            progress: { self.report(received: $0, expected: $1) },
            partial: showsPartialImages ? partial : nil,
            completion: { _ in }
        )
    }

    /// Starts the load of another request as a child, which reports on the threads of the pipeline.
    /// - Returns: `false` if this task has finished or was cancelled.
    func startChild(
        _ request: ImageRequest,
        _ handlers: LoadHandlers?,
        _ completion: @escaping @Sendable (Ending) -> Void
    ) -> Bool {
        let child = makeChild(request, handlers)
        child.addCompletion(completion)
        guard adopt(child) else { return false }
        child.start()
        return true
    }

    /// Cancels the children but not the task, which may adopt other children: the widget was unmapped, or needs another size.
    @_specialize(where Content == WebImage)
    package func cancelChildren() {
        let children = state.withLock { state in
            defer { state.children = [] }
            state.childGeneration += 1
            return state.children
        }
        for child in children { child.cancel() }
    }

    /// Makes the children report their progress to another handler from now on.
    /// - Parameter handler: Replaces the current progress handler of the children.
    /// - Returns: The progress so far; `nil` before the first report.
    package func reportProgressOfChildren(
        to handler: @escaping @MainActor @Sendable (_ received: Int64, _ expected: Int64?) -> Void
    ) -> (received: Int64, expected: Int64?)? {
        var known: (received: Int64, expected: Int64?)?
        for child in state.withLock({ $0.children }) {
            let (progress, replaced) = child.state.withLock { state in
                let replaced = state.handlers
                state.handlers = replaced?.reportingProgress(to: handler)
                return (state.progress, replaced)
            }
            withExtendedLifetime(replaced) { known = progress ?? known }
        }
        return known
    }

    /// Distinguishes the end of a replaced child from the end of the current child.
    package var childGeneration: Int {
        @_specialize(where Content == WebImage)
        get { state.withLock { $0.childGeneration } }
    }

    /// Finishes the task within this call, which must be on the thread of its callbacks. Only the first call has an effect.
    func end(with result: Ending) {
        let (isFirst, wasRunning, isCancelled) = state.withLock { state in
            let wasRunning = state.isRunning
            if case .unstarted = state.phase {} else if !wasRunning { return (false, false, false) }
            state.phase = .finishing
            return (true, wasRunning, state.isCancelled)
        }
        guard isFirst else { return }
        let result = isCancelled ? .failure(.cancelled(request.url)) : result
        // Observers come first: code that awaits the response continues as soon as the phase is `finished`.
        if wasRunning { pipeline.taskDidFinish(self, with: result) }
        let before = state.withLock { state in
            var ended = State(phase: .finished(result), priority: state.priority, isCancelled: state.isCancelled)
            ended.childGeneration = state.childGeneration
            return exchange(&state, with: ended)
        }
        for child in before.children { child.cancel() }
        if let result = result as? ImageResult { before.handlers?.complete(result) }
        for completion in before.completions { completion(result) }
        withExtendedLifetime(before) {}
    }
}

// What the stages report. Each call leads to at most one turn of the dispatcher.
extension LoadTask {
    /// - Returns: Whether the task is to be loaded, because it was neither cancelled nor started before.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isCancelled, case .unstarted = state.phase else { return false }
            state.phase = .running
            return true
        }
    }

    var interceptedRequest: ImageRequest? { intercepted?.value }

    var wantsPartialImages: Bool {
        request.loading == .progressive && showsPartialImages
    }

    /// Whether the thumbnail in the file would be shown.
    var wantsThumbnail: Bool {
        wantsPartialImages && state.withLock { $0.preview.rawValue < ImagePreview.thumbnail.rawValue }
    }

    var showsPartialImages: Bool {
        state.withLock { $0.handlers?.wantsPartialImages == true }
    }

    /// Whether a cached image is shown until the server has answered.
    var wantsPreview: Bool {
        state.withLock { $0.handlers?.wantsPartialImages == true && !$0.hasCachedImage }
    }

    func report(received: Int64, expected: Int64?) {
        let isFirst = state.withLock { state in
            state.progress = (received, expected)
            guard state.handlers?.wantsProgress == true, !state.deliversProgress else { return false }
            state.deliversProgress = true
            return true
        }
        if isFirst { dispatcher.dispatch { self.deliverProgress() } }
    }

    /// Shows an image, unless a better preview is already shown.
    func report(partial: WebImage, as preview: ImagePreview = .partial) {
        let (isFirst, replaced) = state.withLock { state -> (Bool, WebImage?) in
            guard state.handlers?.wantsPartialImages == true,
                preview == .partial || preview.rawValue > state.preview.rawValue
            else { return (false, nil) }
            state.preview = preview
            let replaced = exchange(&state.partial, with: partial)
            return (replaced == nil, replaced)
        }
        if isFirst { dispatcher.dispatch { self.deliverPartial() } }
        withExtendedLifetime(replaced) {}
    }

    /// Shows an image within this call if the caller is on the thread of the callbacks.
    func reportNow(partial: WebImage) {
        state.withLock { ($0.hasCachedImage, $0.preview) = (true, .partial) }
        guard dispatcher.isCurrent else { return report(partial: partial) }
        state.withLock { $0.isCancelled ? nil : $0.handlers }?.report(partial: partial)
    }

    /// Finishes the task in a later turn of its dispatcher.
    func finish(_ result: Ending) {
        pipeline.observers.notify(request.url, .awaitingDelivery, of: self)
        dispatcher.dispatch { self.end(with: result) }
    }

    /// Finishes the task within this call if the caller is on the thread of the callbacks.
    func finishNow(_ result: Ending) {
        if dispatcher.isCurrent { end(with: result) } else { finish(result) }
    }

    private func deliverProgress() {
        let (progress, handlers) = state.withLock { state in
            state.deliversProgress = false
            return (state.progress, state.isCancelled ? nil : state.handlers)
        }
        if let progress { handlers?.report(received: progress.received, expected: progress.expected) }
    }

    private func deliverPartial() {
        let (partial, handlers) = state.withLock { state in
            defer { state.partial = nil }
            return (state.partial, state.isCancelled ? nil : state.handlers)
        }
        if let partial { handlers?.report(partial: partial) }
    }
}
