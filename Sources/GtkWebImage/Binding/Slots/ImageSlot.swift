internal import CWebImageGtk4
import FoundationEssentials
import WebImageCore
import WebImageLinux

/// The state machine that loads the image of one widget under one operation key and shows it.
///
/// A load takes these steps, in the order of this file:
///
/// ```
/// set -> replaceLoad -> prepareLoad -> startWhenLaidOut -> startTask -> receive -> finish
/// ```
///
/// Everything that belongs to one load is in `current`, which the next load replaces as a whole. Only the load in
/// `current` may update the widget; a superseded one finds another task there and only calls its completion.
@MainActor
final class ImageSlot {
    typealias Completion = @MainActor @Sendable (ImageResult) -> Void

    /// What starts a failed load again.
    enum Trigger {
        case network
        case user
    }

    private enum Continuation {
        case newImage
        /// The image on display in more pixels or frames.
        case sameImage
    }

    let target: any SlotTarget
    /// `nil` for a paintable, whose widgets are unknown.
    let widget: WidgetReference?
    private(set) var current: SlotLoad?
    var configuration = SlotConfiguration() {
        didSet { target.content?.playback = configuration.playback }
    }
    /// Created when the app first observes it.
    private(set) var progress: ImageProgress?
    private let placeholders: PlaceholderPresenter
    private var accessibility = SlotAccessibility()

    init(_ target: any SlotTarget, _ widget: WidgetReference?) {
        self.target = target
        self.widget = widget
        placeholders = PlaceholderPresenter(target)
        target.content?.onDraw = { [weak self] in self?.didDraw(width: $0, height: $1) }
    }

    deinit {
        current?.task.cancel()
        current?.cancelRefinement()
        placeholders.cancel()
    }

    // What the app calls

    /// Loads and shows an image, or joins the load of the same image.
    func set(_ request: BindingRequest, _ completion: Completion?) -> ImageTask {
        MainThreadMeter.measure { replaceLoad(with: request, completion) }
    }

    func cancel() {
        current?.task.cancel()
    }

    /// Cancels the load and shows a placeholder, or nothing.
    func clear(_ placeholder: Placeholder?, _ manager: ImageManager) {
        end(.cancelled)
        progress?.reset()
        placeholders.show(placeholder, manager, decodeSize: target.decodeSize())
    }

    /// Cancels the load and shows an image that the app has.
    func show(_ image: WebImage, _ transition: ImageTransition?) {
        end(.cancelled)
        progress?.reset()
        progress?.finish()
        guard target.attach() else { return }
        target.content?.show(image, transition: transition)
        target.changed()
    }

    /// Detaches the load from the widget without cancelling it.
    func release() -> ImageTask? {
        let task = current?.task
        end(.finishes)
        return task
    }

    /// The progress of all loads of this slot, for the app to observe.
    func observedProgress() -> ImageProgress {
        if let progress { return progress }
        let new = ImageProgress()
        switch current?.state {
        case .shown: new.finish()
        case nil where target.image != nil: new.finish()
        default: break
        }
        progress = new
        return new
    }

    // The way of a load from its request to its start.

    private func replaceLoad(with request: BindingRequest, _ completion: Completion?) -> ImageTask {
        guard let image = request.image else { return clear(for: request, completion) }
        if let task = join(request, completion) { return task }
        end(request.options.previousLoad)
        let task = request.manager.makeParentTask(for: image.onScreen, completion: completion)
        prepareLoad(SlotLoad(task: task, request: request, image: image))
        return task
    }

    /// Adds a completion to the current load if it is for the same image. The load is not disturbed, and the widget only
    /// if it shows something else than the paintable.
    private func join(_ request: BindingRequest, _ completion: Completion?) -> ImageTask? {
        guard let current, !current.task.isCancelled, current.request.isEquivalent(to: request) else { return nil }
        switch current.state {
        case .waitingForMap, .waitingForLayout, .loading: break
        // The image stays on display while the server is asked again.
        case .shown where current.image.cachePolicy.revalidatesCachedImage: return nil
        case .shown: break
        case .failed, .detached: return nil
        }
        // The app may have put something else into the widget since then.
        if request.options.display != .manual, target.attach() { target.changed() }
        if let completion {
            current.task.addCompletion { result in MainActor.assumeIsolated { completion(result) } }
        }
        return current.task
    }

    /// Clears the widget for a caller that has no URL. The task fails in a later turn of the main loop.
    private func clear(for request: BindingRequest, _ completion: Completion?) -> ImageTask {
        end(request.options.previousLoad)
        clear(request.placeholder, request.manager)
        let task = request.manager.makeParentTask(for: .empty, completion: completion)
        let error = ImageError(
            .invalidURL,
            url: nil,
            reason: "There is no URL",
            remedy: "Call clearImage() to clear a widget."
        )
        MainLoopDispatcher.shared.dispatch { task.complete(.failure(error)) }
        return task
    }

    /// Ends the current load.
    private func end(_ fate: BindingOptions.PreviousLoad) {
        placeholders.cancel()
        // A completion that waits for the transition runs within finishTransition() and may set another image, which is
        // superseded as well. That one's completion is called later, or a chain of them would not end.
        var callsLater = false
        repeat {
            let ended = current.take()
            ended?.cancelRefinement()
            target.content?.finishTransition(callsLater: callsLater)
            callsLater = true
            // A load that never started has nothing to finish, and its completion must not be lost.
            if let ended, fate == .cancelled || !ended.hasStarted { ended.task.cancel() }
        } while current != nil
        endLoading()
        accessibility.setFailed(false, of: widget)
    }

    /// Shows a memory hit within the call of the app: no placeholder, no turn of the main loop, no flicker. Otherwise
    /// shows the placeholder and arranges for the start.
    private func prepareLoad(_ load: SlotLoad) {
        current = load
        progress?.reset()
        let size = load.decodeSize(in: target)
        if let cached = load.cachedImage(size, for: widget) {
            guard load.image.cachePolicy.revalidatesCachedImage || load.image.includesData else {
                return finish(load.task, .success(ImageResponse(image: cached, source: .memory, url: load.image.url)))
            }
            show(cached, animated: false, .newImage)
        } else if load.request.options.whileLoading != .currentImage {
            showPlaceholder(load)
        }
        startWhenLaidOut(size)
    }

    /// Starts at once, or when the widget is mapped and has a size.
    private func startWhenLaidOut(_ size: DecodeSize?) {
        guard let widget else { return startTask(size ?? .original) }
        guard let pointer = widget.pointer else { return }
        if current?.request.options.start == .immediately {
            startTask(size ?? .original)
        } else if gtk_widget_get_mapped(pointer) == 0 {
            current?.state = .waitingForMap
        } else if let size, !pointer.isInList {
            startTask(size)
        } else {
            waitForLayout(pointer)
        }
    }

    private func waitForLayout(_ pointer: UnsafeMutablePointer<GtkWidget>) {
        current?.state = .waitingForLayout
        LayoutWaiter.wait(for: pointer) { [weak self] in
            guard let self, let current, case .waitingForLayout = current.state, !current.task.isCancelled else {
                return
            }
            // A widget without a size of its own takes that of its image.
            startTask(current.decodeSize(in: target) ?? .original)
        }
    }

    // From the start to the image in its place

    private func startTask(_ size: DecodeSize) {
        current?.state = .loading
        current?.startCount += 1
        target.content?.beginLoading(configuration.indicator)
        if configuration.indicator != nil { target.changed() }
        accessibility.setBusy(true, of: widget)
        guard let load = current else { return }
        if let sequence = load.request.sequence {
            startSequence(sequence, load, size)
        } else {
            startChild(load, size)
        }
    }

    private func startChild(_ load: SlotLoad, _ size: DecodeSize) {
        let task = load.task
        let generation = task.childGeneration
        let child = load.request.manager.makeTask(
            for: load.makeRequest(size, for: widget),
            handlers: .mainActor(
                progress: progressHandler(load),
                partial: { [weak self] image in self?.receive(partial: image, of: task) },
                completion: { [weak self] result in
                    guard let self, let current = self.current, current.task === task else {
                        // A superseded load ends with the child that runs, not with one that an unmap interrupted.
                        if task.childGeneration == generation { task.complete(result) }
                        return
                    }
                    if current.startCount == load.startCount { finish(task, result) }
                }
            )
        )
        if task.adopt(child) { child.start() }
    }

    /// Returns `nil` if nothing shows progress: each report costs a turn of the main loop.
    private func progressHandler(_ load: SlotLoad) -> (@MainActor @Sendable (Int64, Int64?) -> Void)? {
        guard load.request.progress != nil || progress != nil || configuration.indicator != nil else { return nil }
        let task = load.task
        let handler = load.request.progress
        return { [weak self] received, expected in
            guard let self, current?.task === task else { return }
            target.content?.setProgress(expected.map { $0 > 0 ? min(Double(received) / Double($0), 1) : 0 })
            progress?.set(received, expected)
            handler?(received, expected)
        }
    }

    private func receive(partial image: WebImage, of task: ImageTask) {
        guard let load = current, load.task === task, !task.isCancelled else { return }
        showPartial(image)
        load.request.partial?(image)
    }

    func showPartial(_ image: WebImage) {
        // The first partial image may appear with a transition; one that only gets sharper must not blink.
        let isContinued = current?.showsPartialImage == true
        show(image, animated: target.image == nil, isContinued ? .sameImage : .newImage)
        current?.showsPartialImage = true
    }

    /// Puts an image into the widget.
    /// - Parameters:
    ///   - animated: Whether the transition of the widget applies, unless the app wants it always.
    ///   - onEnd: Called once, when the transition is over.
    private func show(
        _ image: WebImage,
        animated: Bool,
        _ continuation: Continuation,
        onEnd: (@MainActor @Sendable () -> Void)? = nil
    ) {
        // A completion that waits for the transition runs within this call and may set another image.
        let task = current?.task
        target.content?.finishTransition()
        guard let current, current.task === task else {
            onEnd?()
            return
        }
        let options = current.request.options
        guard options.display != .manual, target.attach() else {
            onEnd?()
            return
        }
        target.content?.show(
            image,
            transition: animated || options.display == .animated ? configuration.transition : nil,
            isContinued: continuation == .sameImage,
            onEnd: onEnd
        )
        target.changed()
    }

    /// Puts the image in place, then completes the task.
    func finish(_ task: ImageTask, _ result: ImageResult) {
        guard let load = current, load.task === task else { return task.complete(result) }
        endLoading()
        switch result {
        case .success(let response):
            current?.state = .shown(response)
            progress?.finish()
            accessibility.setFailed(false, of: widget)
            let continuation = load.showsPartialImage ? Continuation.sameImage : .newImage
            let animated = response.source != .memory && continuation == .newImage
            if load.request.options.awaitsTransition {
                show(response.image, animated: animated, continuation) { task.complete(result) }
            } else {
                show(response.image, animated: animated, continuation)
                task.complete(result)
            }
        case .failure(let error):
            current?.state = .failed
            if !error.isCancelled { showFailure(load) }
            if error.isConnectivityFailure { restartWhenOnline(load.request.manager) }
            task.complete(result)
        }
    }

    private func endLoading() {
        target.content?.endLoading()
        if configuration.indicator != nil { target.changed() }
        accessibility.setBusy(false, of: widget)
    }

    // Placeholders and failures

    private func showFailure(_ load: SlotLoad) {
        accessibility.setFailed(true, of: widget)
        guard load.request.options.display != .manual else { return }
        if let placeholder = configuration.errorPlaceholder {
            placeholders.show(placeholder, load.request.manager, decodeSize: load.decodeSize(in: target))
        } else if load.request.options.whileLoading == .currentImage {
            showPlaceholder(load)
        }
    }

    private func showPlaceholder(_ load: SlotLoad) {
        let placeholder = load.request.placeholder
        if placeholder == nil, load.request.options.whileLoading == .placeholderOrCurrentImage { return }
        placeholders.show(placeholder, load.request.manager, decodeSize: load.decodeSize(in: target))
    }

    /// Loads the image again when the network is back. The completions have received their error by then.
    private func restartWhenOnline(_ manager: ImageManager) {
        current?.networkObservation = manager.observeNetwork { [weak self] status in
            guard status.isAvailable else { return }
            MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated {
                    guard let self, self.current?.networkObservation != nil else { return }
                    self.restartFailed(.network)
                }
            }
        }
    }

    private func restartFailed(_ trigger: Trigger) {
        guard let load = current, case .failed = load.state else { return }
        restart(load, ignoresFailureCache: trigger == .user)
    }

    /// Replaces a load that has ended by another one of the same request, without its handlers: the completion was
    /// called, and no handler is called after it.
    private func restart(_ ended: SlotLoad, ignoresFailureCache: Bool = false) {
        placeholders.cancel()
        ended.cancelRefinement()
        let task = ended.request.manager.makeParentTask(for: ended.image.onScreen)
        var load = SlotLoad(task: task, request: ended.request.withoutHandlers, image: ended.image)
        load.ignoresFailureCache = ignoresFailureCache
        prepareLoad(load)
    }

}

// Events of the widget.
extension ImageSlot {
    func widgetMapped() {
        target.content?.widgetMapped()
        guard let load = current, let pointer = widget?.pointer else { return }
        switch load.state {
        case .waitingForMap:
            // Lists map rows in passing and unmap them within the same layout; those are not worth a request.
            if !load.task.isCancelled { waitForLayout(pointer) }
        case .loading:
            load.task.priority = load.image.onScreen.priority
        case .detached:
            // The completions have received their cancellation.
            restart(load)
        case .waitingForLayout, .shown, .failed:
            break
        }
    }

    /// Lets visible widgets go first. Lists and stacks come back, so the load ends only if the app wants that.
    func widgetUnmapped() {
        target.content?.widgetUnmapped()
        guard let load = current else { return }
        switch load.state {
        case .waitingForLayout:
            current?.state = .waitingForMap
        case .loading where load.request.options.start == .onlyWhileMapped:
            current?.state = .waitingForMap
            current?.startCount += 1
            endLoading()
            load.task.cancelChildren()
        case .loading:
            load.task.priority = .low
        case .waitingForMap, .shown, .failed, .detached:
            break
        }
    }

    func widgetUnrooted() {
        current?.cancelRefinement()
        current?.refinement = .idle
        switch current?.state {
        case .waitingForMap, .waitingForLayout, .loading:
            // The child task is ignored from now on; the task calls its completions itself.
            current?.state = .detached
            current?.startCount += 1
            endLoading()
            current?.task.cancel()
        case nil, .shown, .failed, .detached:
            break
        }
    }

    func widgetClicked() {
        if configuration.retriesOnClick { restartFailed(.user) }
    }
}

// Refinement: the image was drawn larger than it was decoded.
extension ImageSlot {
    /// Runs within GTK's snapshot, so it must not change any widget.
    private func didDraw(width: Double, height: Double) {
        guard let image = target.image, !image.isPartial, let area = target.area else { return }
        let scale = area.deviceScale
        // 10 % slack: slight upscaling is invisible, and resizing a window must not decode at every step.
        let isTooSmall =
            Double(image.decodedSize.width) * 1.1 < width * scale
            && Double(image.decodedSize.height) * 1.1 < height * scale
        if isTooSmall, image.decodedSize.width < image.naturalSizeBeforeTransform.width { refineIfNeeded(image) }
    }

    private func refineIfNeeded(_ image: WebImage) {
        guard let load = current, load.canRefine, let size = load.decodeSize(in: target),
            size.target(for: image.naturalSizeBeforeTransform) != image.decodedSize
        else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated { self?.refine(load.task, size) }
        }
    }

    private func refine(_ task: ImageTask, _ size: DecodeSize) {
        guard let load = current, load.task === task, load.canRefine else { return }
        let completion: Completion = { [weak self] result in
            guard let self, current?.task === task, case .loading = current?.refinement else { return }
            switch result {
            case .success(let response):
                current?.refinement = .idle
                show(response.image, animated: false, .sameImage)
            case .failure(let error):
                current?.refinement = error.isCancelled ? .idle : .failed
            }
        }
        let refining = load.request.manager.makeTask(
            for: load.makeRequest(size, for: widget),
            handlers: .mainActor(progress: nil, partial: nil, completion: completion)
        )
        current?.refinement = .loading(refining)
        refining.start()
    }
}

extension ImageRequest {
    /// The request of a task that has nothing to load: `ImageTask.request` is not optional.
    fileprivate static let empty = ImageRequest(url: URL(string: "about:blank") ?? URL(fileURLWithPath: "/"))
}

extension ImageError {
    /// Whether the network may be missing, rather than the image.
    fileprivate var isConnectivityFailure: Bool { [.offline, .hostNotFound, .connectionFailed].contains(code) }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Whether the widget is part of a row of a GtkListView or a similar list. Those also bind rows that the next
    /// layout moves off screen; a load waits for that layout.
    fileprivate var isInList: Bool { gtk_widget_get_ancestor(self, gtk_list_base_get_type()) != nil }
}
