import Synchronization

/// A load that somebody waits for. Dropping it does not cancel it.
public final class ImageTask: Sendable {
    /// What is called, each on the manager's dispatcher: the main loop, unless the load was started by await.
    package struct Handlers: Sendable {
        package var progress: (@Sendable (_ received: Int64, _ expected: Int64?) -> Void)?
        package var partial: (@Sendable (WebImage) -> Void)?
        package var completion: @Sendable (Result<ImageResponse, ImageError>) -> Void

        package init(
            progress: (@Sendable (Int64, Int64?) -> Void)? = nil,
            partial: (@Sendable (WebImage) -> Void)? = nil,
            completion: @escaping @Sendable (Result<ImageResponse, ImageError>) -> Void
        ) {
            self.progress = progress
            self.partial = partial
            self.completion = completion
        }
    }

    private struct State {
        var priority: ImagePriority
        var isCancelled = false
        /// Given up when the completion has been called, with all that the closures hold.
        var handlers: Handlers?
        /// The newest progress and partial image that were not delivered yet; older ones are of no use to anybody.
        var progress: (Int64, Int64?)?
        var partial: WebImage?
        /// Whether what memory had was shown at the start.
        var hasPreview = false
        /// Loads of other URLs for this one.
        var children: [ImageTask] = []
    }

    /// What is loaded.
    public let request: ImageRequest
    private let manager: ImageManager
    private let dispatcher: any CallbackDispatching
    private let state: Mutex<State>

    init(
        request: ImageRequest,
        manager: ImageManager,
        dispatcher: any CallbackDispatching,
        handlers: Handlers
    ) {
        self.request = request
        self.manager = manager
        self.dispatcher = dispatcher
        state = Mutex(State(priority: request.priority, handlers: handlers))
    }

    /// How urgent it is; may be changed at any time, from any thread. Default: that of the request.
    public var priority: ImagePriority {
        get { state.withLock { $0.priority } }
        set {
            let (isChanged, children) = state.withLock { state in
                defer { state.priority = newValue }
                return (state.priority != newValue, state.children)
            }
            if isChanged { manager.priorityChanged(of: self) }
            for child in children { child.priority = newValue }
        }
    }

    /// Whether cancel() was called.
    public var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether the completion has been called.
    public var isFinished: Bool { state.withLock { $0.handlers == nil } }

    /// Ends the load with ImageError/Code/cancelled, unless it has ended. The completion is called later, never by
    /// this call. From any thread.
    public func cancel() {
        let isFirst = state.withLock { state in
            defer { state.isCancelled = true }
            return !state.isCancelled && state.handlers != nil
        }
        guard isFirst else { return }
        manager.leave(self)
        for child in state.withLock({ $0.children }) { child.cancel() }
        finish(.failure(.cancelled(request.url)))
    }

    var wantsPartialImages: Bool {
        request.options.contains(.progressive) && showsPartialImages
    }

    var showsPartialImages: Bool {
        state.withLock { $0.handlers?.partial != nil }
    }

    /// Whether a cached image is to be shown until the server has answered.
    var wantsPreview: Bool {
        state.withLock { $0.handlers?.partial != nil && !$0.hasPreview }
    }
}

// What the stages report. Each call is followed by at most one turn of the dispatcher.
extension ImageTask {
    func report(received: Int64, expected: Int64?) {
        let isFirst = state.withLock { state in
            guard state.handlers?.progress != nil else { return false }
            defer { state.progress = (received, expected) }
            return state.progress == nil
        }
        if isFirst { dispatcher.dispatch { self.deliverProgress() } }
    }

    func report(partial: WebImage) {
        let isFirst = state.withLock { state in
            guard state.handlers?.partial != nil else { return false }
            defer { state.partial = partial }
            return state.partial == nil
        }
        if isFirst { dispatcher.dispatch { self.deliverPartial() } }
    }

    /// Shows an image within this call, when the caller is where images go.
    func reportNow(partial: WebImage) {
        state.withLock { $0.hasPreview = true }
        guard dispatcher.isCurrent else { return report(partial: partial) }
        if let handler = state.withLock({ $0.isCancelled ? nil : $0.handlers?.partial }) { handler(partial) }
    }

    /// Makes a load of another URL part of this one, which ends it.
    /// - Returns: false when this one has ended or was cancelled.
    func adopt(_ child: ImageTask) -> Bool {
        state.withLock { state in
            guard !state.isCancelled, state.handlers != nil else { return false }
            state.children.append(child)
            return true
        }
    }

    /// Shows an image until a better one comes, unless one has come.
    func report(preview: WebImage) {
        guard state.withLock({ $0.partial == nil }) else { return }
        report(partial: preview)
    }

    /// - Parameter isLast: Whether no other URL is tried when this is an error.
    func finish(_ result: Result<ImageResponse, ImageError>, isLast: Bool = false) {
        if !isLast, case .failure(let error) = result, manager.startFallback(for: self, after: error) { return }
        dispatcher.dispatch { self.complete(result) }
    }

    /// Ends the load within this call, when the caller is where completions go.
    func finishNow(_ result: Result<ImageResponse, ImageError>) {
        if dispatcher.isCurrent { complete(result) } else { finish(result) }
    }

    private func deliverProgress() {
        let (progress, handler) = state.withLock { state in
            defer { state.progress = nil }
            return (state.progress, state.isCancelled ? nil : state.handlers?.progress)
        }
        if let progress, let handler { handler(progress.0, progress.1) }
    }

    private func deliverPartial() {
        let (partial, handler) = state.withLock { state in
            defer { state.partial = nil }
            return (state.partial, state.isCancelled ? nil : state.handlers?.partial)
        }
        if let partial, let handler { handler(partial) }
    }

    /// Whoever takes the handlers out is the one who calls the completion: once, whatever races.
    private func complete(_ result: Result<ImageResponse, ImageError>) {
        let (handlers, isCancelled) = state.withLock { state in
            defer { state.handlers = nil }
            return (state.handlers, state.isCancelled)
        }
        guard let handlers else { return }
        let children = state.withLock { state in
            defer { state.children = [] }
            return state.children
        }
        for child in children { child.cancel() }
        manager.tellEnd(of: self, isCancelled ? .failure(.cancelled(request.url)) : result)
        if handlers.progress != nil || handlers.partial != nil {
            state.withLock { state in
                state.progress = nil
                state.partial = nil
            }
        }
        handlers.completion(isCancelled ? .failure(.cancelled(request.url)) : result)
    }
}
