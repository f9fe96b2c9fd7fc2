internal import CWebImageGtk4
import FoundationEssentials
import WebImageCore
import WebImageLinux

/// The state machine that loads the image of one widget under one operation key and shows it.
///
/// A load takes these steps, in the order of this file:
///
/// ```
/// set -> prepareLoad -> startWhenLaidOut -> startTask -> receive -> finish
/// ```
///
/// Everything that belongs to one load is in `current`, which the next load replaces as a whole. Only the load in
/// `current` may update the widget. A superseded load finds another task there and only calls its completion. Handlers
/// and observers of the app may set another image, so code after such a call checks `current` again.
@MainActor
final class ImageSlot {
    typealias Completion = @MainActor @Sendable (ImageResult) -> Void

    /// What restarts a failed load.
    enum Trigger {
        case network
        case user
    }

    enum Continuation {
        case newImage
        /// The image on display, with more pixels or frames.
        case sameImage
    }

    let target: any SlotTarget
    /// `nil` for a paintable, whose widgets are unknown.
    let widget: WidgetReference?
    var current: SlotLoad?
    var configuration = SlotConfiguration() {
        didSet { target.content?.playback = configuration.playback }
    }
    /// Created when the app first observes it.
    var progress: ImageProgress?
    /// The load of the newest placeholder, if that is given by a URL.
    var placeholderLoad: PlaceholderLoad?
    var laterRetry = LaterRetry()
    var accessibility: SlotAccessibility

    /// - Parameter isContent: Whether the image is part of the content of the widget.
    init(_ target: any SlotTarget, _ widget: WidgetReference?, isContent: Bool) {
        self.target = target
        self.widget = widget
        accessibility = SlotAccessibility(isContent ? widget : nil)
        followArea()
        target.content?.observer = self
    }

    deinit {
        current?.task.cancel()
    }

    /// Follows the child that shows the image, because it may be hidden although the widget is not, as in a closed GtkExpander.
    private func followArea() {
        guard let area = target.area, let widget = widget?.pointer, area != widget else { return }
        let object = UnsafeMutableRawPointer(area)
        object.connect("map") { [weak self] in self?.widgetMapped() }
        object.connect("unmap") { [weak self] in self?.areaChanged() }
        let parent = UnsafeMutableRawPointer(widget)
        guard parent.hasProperty("child", of: gtk_widget_get_type()) else { return }
        parent.connect("notify::child") { [weak self] in self?.areaChanged() }
    }

    /// Whether the part that shows the image is on screen; `nil` without a widget.
    var isMapped: Bool? {
        guard let widget else { return nil }
        guard let shown = target.hasArea ? target.area ?? widget.pointer : widget.pointer else { return false }
        return gtk_widget_get_mapped(shown) != 0
    }

    /// Changes the observed progress of a load. An observer is called before the change and may set another image,
    /// whose state is shown then.
    /// - Parameter task: The task of the load; `nil` if there is none.
    func updateProgress(of task: ImageTask?, _ change: (ImageProgress) -> Void) {
        guard let progress else { return }
        change(progress)
        if current?.task !== task { progress.reset(to: presentState ?? .idle) }
    }

    // The path of a load from its request to its start.

    /// Loads and shows an image, or joins the load of the same image.
    func set(_ request: BindingRequest, by manager: ImageManager, _ completion: Completion?) -> ImageTask {
        guard let image = request.image else { return clear(for: request, by: manager, completion) }
        var keepsImage = false
        // Nearly all requests are for another image. To compare all of a request would copy it.
        if let current, current.request.image?.url == image.url, current.manager === manager,
            request.isReload(of: current.request)
        {
            if let task = join(current, with: request, completion) { return task }
            keepsImage = stillKeepsImage(current)
        }
        end(request.options.previousLoad, staysBusy: true)
        let load = SlotLoad(of: image, for: request, by: manager, completion)
        let task = load.task
        load.keepsImage = keepsImage
        current = load
        if request.progress != nil || request.partial != nil { dropHandlersAtEnd(of: task) }
        prepareLoad()
        // The widget stays busy from one load to the next, rather than tell assistive technology twice.
        if case .loading = current?.state {} else { accessibility.isBusy = false }
        return task
    }

    /// Ends the current load.
    func end(_ fate: BindingOptions.PreviousLoad, staysBusy: Bool = false) {
        placeholderLoad = nil
        let ended = current.take()
        laterRetry.cancel()
        if let ended, ended.isShown {
            // The end of the transition completes the load of an image that is in place.
            target.content?.finishTransition()
        } else if let ended {
            ended.task.detach()
            // The completion of a load that never started must not be lost.
            if fate == .cancelled || !ended.hasStarted { ended.task.cancel() }
        }
        endLoading(staysBusy: staysBusy)
        accessibility.hasFailed = false
    }

    /// Shows a memory hit within the call of the app: no placeholder, no turn of the main loop, no flicker. Otherwise
    /// it shows the placeholder and arranges the start.
    func prepareLoad() {
        guard let load = current else { return }
        if progress != nil {
            updateProgress(of: load.task) { $0.reset(to: .loading) }
            guard current === load else { return }
            followCancellation(of: load.task)
        }
        if load.hasDarkImage { noteStyle() }
        var asked = makeRequest(for: load)
        let (size, displayScale) = (asked.decodeSize, asked.displayScale)
        var prepared: PreparedLoad?
        var hasImage = false
        if load.request.sequence == nil {
            // If the widget has no size yet, an image of any size will do.
            asked.decodeSize = size ?? .original
            var request = load.manager.prepare(asked)
            let (image, response) = load.manager.memoryStage.hit(forBinding: &request, inAnySize: size == nil)
            guard current === load else { return }
            if let image {
                // If the size is unknown, the image may come from any file.
                load.variantRank = request.request.variantRank.map { size == nil ? -1 : $0 }
                if let response { return finish(load.task, .success(response)) }
                show(image, animated: false, .newImage)
                hasImage = true
            }
            prepared = PreparedLoad(size: size, scale: displayScale, request: request)
        }
        if !hasImage, load.request.options.whileLoading != .currentImage, !load.keepsImage { showPlaceholder() }
        startWhenLaidOut(size, prepared)
    }

    /// The size to decode at; `nil` if neither the request nor the widget has one.
    var decodeSize: DecodeSize? { current?.request.image?.decodeSize ?? target.decodeSize() }

    /// The request of a load, for the widget as it is now.
    /// - Parameters:
    ///   - size: The size to decode at. Default: ``decodeSize``.
    ///   - part: One of several images. Default: the image.
    func makeRequest(for load: SlotLoad, at size: DecodeSize? = nil, of part: ImageRequest? = nil) -> ImageRequest {
        var result = part ?? load.image
        if load.isDark { result = result.inStyle(isDark: true) }
        result.priority = result.onScreenPriority
        if load.ignoresFailureCache { result.rememberedFailure = .ignored }
        // The manager's request processor may add a transformer, whose radii are in application pixels.
        result.acceptsLarger = true
        let (scale, ownSize) = (widget?.pointer?.deviceScale, load.request.image?.decodeSize)
        if ownSize != .original, let scale { result.displayScale = scale }
        result.decodeSize = size ?? ownSize ?? target.decodeSize(scale: scale ?? 1)
        result.preparation = TexturePreparation()
        return result
    }

    /// Shows the placeholder of the request.
    func showPlaceholder() {
        guard let load = current else { return }
        let placeholder = load.request.placeholder
        if placeholder == nil, load.request.options.whileLoading == .placeholderOrCurrentImage { return }
        show(placeholder, load.manager)
    }

    /// Shows a placeholder, or nothing. A placeholder given by a URL is loaded when the load of the image starts.
    /// - Parameter keepsPreview: Whether an icon is drawn over an image that is displayed as a placeholder.
    func show(_ placeholder: ImagePlaceholder?, _ manager: @autoclosure () -> ImageManager, keepsPreview: Bool = false)
    {
        placeholderLoad = nil
        target.attach()
        // Nothing in place of nothing would only redraw the widget.
        if placeholder != nil || target.content?.isEmpty == false {
            target.content?.show(placeholder, keepsPreview: keepsPreview)
        }
        target.changed()
        if case .url(let url) = placeholder?.kind { placeholderLoad = PlaceholderLoad(url, manager(), for: target) }
    }

    /// Starts at once, or after the widget is mapped and has a size.
    func startWhenLaidOut(_ size: DecodeSize?, _ prepared: PreparedLoad? = nil) {
        guard let widget else { return startTask(size ?? .original, prepared?.request) }
        guard let pointer = widget.pointer, let load = current else { return }
        if load.request.options.start == .immediately {
            if isMapped == false { load.task.priority = load.image.offScreenPriority }
            startTask(size ?? .original, prepared?.request)
        } else if isMapped == false {
            load.state = .waitingForMap
        } else if let size, !pointer.isInList {
            startTask(size, prepared?.request)
        } else {
            waitForLayout(pointer, prepared)
        }
    }

    func waitForLayout(_ pointer: UnsafeMutablePointer<GtkWidget>, _ prepared: PreparedLoad? = nil) {
        current?.state = .waitingForLayout(prepared)
        LayoutWaiter.wait(for: pointer) { [weak self] in
            guard let self, let current, case .waitingForLayout(let prepared) = current.state,
                !current.task.isCancelled
            else { return }
            // A widget without a size gets the size of its image.
            let size = decodeSize ?? .original
            startTask(size, prepared?.request(at: size, on: widget))
        }
    }

    // From the start to the image in its place.

    func startTask(_ size: DecodeSize, _ prepared: PreparedRequest? = nil) {
        guard let load = current else { return }
        if let pointer = widget?.pointer, SuspendedWidgets.contain(pointer) {
            load.state = .suspended
            return
        }
        load.state = .loading
        let isOtherStyle = load.hasDarkImage && noteStyle()
        placeholderLoad?.start(at: size)
        target.content?.beginLoading(configuration.indicator)
        accessibility.isBusy = true
        if let sequence = load.request.sequence { return startSequence(sequence, size) }
        let task = load.task
        let request = (isOtherStyle ? nil : prepared) ?? load.manager.prepare(makeRequest(for: load, at: size))
        guard current === load else { return }
        let wantsProgress = load.wantsProgress || progress != nil || configuration.indicator != nil
        load.variantRank = request.request.variantRank
        task.start(
            request,
            for: .mainActor(
                progress: wantsProgress ? progressHandler(of: task) : nil,
                partial: { [weak self] image in self?.receive(partial: image, of: task) },
                completion: { [weak self] result in
                    guard case .loading = self?.current?.state else { return task.complete(result) }
                    self?.finish(task, result)
                }
            )
        )
    }

    /// Whether a load is neither superseded nor cancelled. A handler of the app may have done either.
    func isCurrent(_ task: ImageTask) -> Bool { current?.task === task && !task.isCancelled }

    /// Puts an image into the widget.
    /// - Parameters:
    ///   - animated: Whether the transition of the widget applies, unless the app always wants it.
    ///   - onEnd: Called once, when the transition is over.
    func show(
        _ image: WebImage,
        animated: Bool,
        _ continuation: Continuation,
        onEnd: (@MainActor @Sendable () -> Void)? = nil
    ) {
        guard let options = current?.request.options else { return }
        guard options.display != .manual else {
            onEnd?()
            return
        }
        target.attach()
        target.content?.show(
            image,
            transition: animated || options.display == .animated ? configuration.transition : nil,
            focus: options.focus,
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
            load.state = .shown(response)
            load.partialImage = nil
            updateProgress(of: task) { $0.state = .shown }
            guard current === load else { return task.complete(result) }
            accessibility.hasFailed = false
            let continuation = load.showsPartialImage ? Continuation.sameImage : .newImage
            let animated = continuation == .newImage && configuration.transition?.applies(to: response) == true
            if load.request.options.awaitsTransition {
                show(response.image, animated: animated, continuation) { task.complete(result) }
            } else {
                show(response.image, animated: animated, continuation)
                task.complete(result)
            }
            guard current === load else { return }
            if let error = response.fallbackError { restartLater(after: error) } else { laterRetry.cancel() }
        case .failure(let error): fail(load, error)
        }
    }

    func endLoading(staysBusy: Bool = false) {
        target.content?.endLoading()
        if configuration.indicator != nil { target.changed() }
        if !staysBusy { accessibility.isBusy = false }
    }
}
