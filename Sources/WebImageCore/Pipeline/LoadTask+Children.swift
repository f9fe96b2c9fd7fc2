import Synchronization

// The loads of other URLs or attempts on behalf of a task.
extension LoadTask {
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
        while let parent = task.state.withLock({ $0.parent }) as? LoadTask { task = parent }
        return task
    }

    /// Creates the task of another request, which reports on the threads of the pipeline.
    func makeChild(_ request: ImageRequest, _ handlers: LoadHandlers?) -> LoadTask {
        let prepared = PreparedRequest(request: request)
        return LoadTask(prepared, pipeline: pipeline, dispatcher: InlineDispatcher(), handlers: handlers)
    }

    /// Drops a child that has ended.
    func disown(_ child: LoadTask) {
        state.release { state in exchange(&state.children, with: state.children.filter { $0 !== child }) }
    }

    /// Handlers of a child that reports its progress and partial images to this task. Partial images are decoded only
    /// if there is a handler for them.
    var forwarding: LoadHandlers {
        var handlers = LoadHandlers(progress: { self.report(received: $0, expected: $1) }, completion: { _ in })
        if showsPartialImages { handlers.partial = { self.report(partial: $0) } }
        return handlers
    }

    /// Starts the load of another request as a child, which reports on the threads of the pipeline.
    /// - Returns: `false` if this task does not load any longer.
    func startChild(
        _ request: ImageRequest,
        _ handlers: LoadHandlers?,
        _ completion: @escaping @Sendable (Ending) -> Void
    ) -> Bool {
        let child = makeChild(request, handlers)
        child.addCompletion(completion)
        guard adopt(child), isLoading else { return false }
        child.start()
        return true
    }
}
