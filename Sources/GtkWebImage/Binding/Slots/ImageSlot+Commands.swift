import FoundationEssentials
import WebImageCore
import WebImageLinux

// What the app calls besides `set`.
extension ImageSlot {
    func cancel() {
        guard let task = current?.task else { return }
        laterRetry.cancel()
        current?.networkObservation = nil
        task.cancel()
        // A load that has left its window with the widget would otherwise restart in another window.
        guard current?.task === task, case .detached = current?.state else { return }
        // Objects of the app that are released with its handlers may use the widget.
        withExtendedLifetime(current.take()) {}
    }

    /// Cancels the load and shows a placeholder, or nothing.
    func clear(_ placeholder: ImagePlaceholder?, _ manager: @autoclosure () -> ImageManager) {
        end(.cancelled)
        // This comes last, because an observer of the progress may set another image.
        defer { updateProgress(of: nil) { $0.reset(to: .idle) } }
        show(placeholder, manager())
        startPlaceholderIfVisible()
    }

    /// Cancels the load and shows an image of the app.
    func show(_ image: WebImage, _ transition: ImageTransition?, focus: ImagePoint) {
        end(.cancelled)
        defer { updateProgress(of: nil) { $0.reset(to: .shown) } }
        target.attach()
        target.content?.show(image, transition: transition, focus: focus)
        target.changed()
    }

    /// Detaches the load from the widget without cancelling it.
    func release() -> ImageTask? {
        let task = current?.task
        end(.finishes)
        updateProgress(of: nil) { $0.reset(to: target.image == nil ? .idle : .shown) }
        return task
    }

    /// Clears the widget for a caller without a URL, or shows its error placeholder. The task fails in a later turn.
    func clear(for request: BindingRequest, by manager: ImageManager, _ completion: Completion?) -> ImageTask {
        end(request.options.previousLoad)
        let failure = request.options.display == .manual ? nil : configuration.errorPlaceholder
        clear(failure ?? request.placeholder, manager)
        accessibility.hasFailed = failure != nil && current == nil
        // A task has a request, although there is nothing to load.
        let nothing = ImageRequest(url: URL(filePath: "/"))
        let task = ImageTask(binding: nothing, in: manager.pipeline, completion: completion)
        let error = ImageError.noURL(remedy: "Call clearImage() to clear a widget.")
        MainLoopDispatcher.shared.dispatch { task.complete(.failure(error)) }
        return task
    }

    /// Adds a completion to the current load if it is for the same image. The load is not disturbed, and the widget is
    /// changed only if it shows something else than the paintable.
    func join(_ load: SlotLoad, with request: BindingRequest, _ completion: Completion?) -> ImageTask? {
        let task = load.task
        guard !task.isCancelled, load.takesMore, load.request.isEquivalent(to: request) else { return nil }
        // The image stays on display while the server is asked again.
        if load.isShown, let image = request.image, load.manager.loadsShownImage(of: image) { return nil }
        load.allowRefinement()
        // The app may have put other content into the widget since then.
        if request.options.display != .manual, target.attach() { target.changed() }
        if let completion {
            task.addCompletion { result in MainActor.assumeIsolated { completion(result) } }
        }
        if request.progress != nil || request.partial != nil { addHandlers(of: request) }
        return task
    }
}
