import Synchronization

/// A helper of stage 1, on Swift's global executor: runs the interceptors of the app around a child task that loads the image.
struct InterceptorStage: PipelineStage {
    /// One load on its way through the interceptors.
    private final class Load: Sendable {
        let task: ImageTask
        /// The request that the first interceptor receives.
        let request: ImageRequest
        /// The failed attempts of the loads that interceptors have made.
        let failures = Mutex<[ImageError.Attempt]>([])

        init(_ task: ImageTask, _ request: ImageRequest) {
            self.task = task
            self.request = request
        }

        /// Adds attempts. An interceptor may retry without end, so only the first attempts and the last one are kept.
        func add(_ attempts: [ImageError.Attempt]) {
            failures.withLock { failures in
                for attempt in attempts {
                    if failures.count >= ImageError.historyLimit { failures.removeLast() }
                    failures.append(attempt)
                }
            }
        }
    }

    /// A task whose interceptors are still running, and the Swift task that runs them.
    typealias Running = (task: ImageTask, work: Task<Void, Never>)

    let context: StageContext
    private var interceptors: [any ImageIntercepting] { context.dependencies.interceptors }

    /// The tasks whose interceptors are still running.
    var tasks: [ImageTask] { context.intercepted.withLock { $0.values.map(\.task) } }

    /// Runs the interceptors of a task and completes it with their result.
    func run(_ task: ImageTask, _ request: ImageRequest) {
        let id = ObjectIdentifier(task)
        let (load, priority) = (Load(task, request), task.priority.taskPriority)
        context.intercepted.withLock { running in
            let work = Task.detached(priority: priority) { [self] in
                let result = await result(of: load)
                // The texture is created here rather than on the main thread.
                if case .success(let response) = result { request.preparation?.prepare(response.image) }
                context.intercepted.release { $0.removeValue(forKey: id) }
                task.finish(result)
            }
            running[id] = (task, work)
        }
    }

    /// Cancels the Swift task of the interceptors, which may keep running for any time: the image task completes without it.
    func cancel(_ task: AnyObject) {
        context.intercepted.withLock { $0[ObjectIdentifier(task)]?.work }?.cancel()
    }

    private func result(of load: Load) async -> ImageResult {
        do throws(ImageError) {
            return .success(try await proceed(to: 0, load, with: load.request))
        } catch {
            return .failure(told(error, of: load))
        }
    }

    /// The error with the attempts of all loads that interceptors have started.
    private func told(_ error: ImageError, of load: Load) -> ImageError {
        var failures = load.failures.withLock { $0 }
        if error.attempts.isEmpty {
            failures.append(ImageError.Attempt(error, of: load.request.url, from: nil, to: clock.now))
        }
        guard let last = failures.popLast() else { return error }
        return error.ending(last, after: failures)
    }

    /// Calls an interceptor, or loads the image after the last one.
    private func proceed(
        to index: Int,
        _ load: Load,
        with request: ImageRequest
    ) async throws(ImageError) -> ImageResponse {
        guard index < interceptors.count else { return try await loadImage(of: load, request) }
        let chain = InterceptorChain(request) { [self] request throws(ImageError) in
            try await proceed(to: index + 1, load, with: request)
        }
        return try await interceptors[index].intercept(chain)
    }

    private func loadImage(of load: Load, _ request: ImageRequest) async throws(ImageError) -> ImageResponse {
        let task = load.task
        if request.priority != load.request.priority { task.priority = request.priority }
        var resolved = request.completed(from: load.request)
        preparation.resolve(&resolved)
        let child = task.makeChild(resolved, task.forwarding)
        guard !Task.isCancelled, task.adopt(child), task.isLoading else { throw .cancelled(request.url) }
        child.start()
        // A finished child would keep its image for as long as the interceptor runs.
        defer { task.disown(child) }
        do {
            return try await child.response
        } catch {
            load.add(error.attempts)
            throw error
        }
    }
}

extension ImageRequest {
    /// The request with the size and scale of the widget, which an interceptor that creates a new request does not know.
    fileprivate func completed(from original: ImageRequest) -> ImageRequest {
        var request = self
        if request.decodeSize == nil { request.decodeSize = original.decodeSize }
        if request.displayScale == nil { request.displayScale = original.displayScale }
        if request.preparation == nil { request.preparation = original.preparation }
        request.acceptsLarger = request.acceptsLarger || original.acceptsLarger
        return request
    }
}
