internal import CWebImageGtk4
import FoundationEssentials
import WebImageCore
import WebImageLinux

/// The load of one widget under one key: what is wanted, how far it is, and what may touch the widget.
///
/// Only the load that is in load may: a superseded one finds another in its place.
@MainActor
final class ImageSlot {
    enum Stage {
        case idle
        /// Until the widget is mapped.
        case unmapped
        /// Mapped; until its first layout.
        case unsized
        case loading
        case shown(ImageResponse)
        case failed
        /// Ended because the widget left its window; goes on when it is mapped again.
        case detached
    }

    let target: any SlotTarget
    /// nil for a paintable that no widget is known of.
    let widget: WidgetReference?
    var request: SlotRequest?
    var stage = Stage.idle
    var load: ImageLoad? {
        didSet { loadHandle.set(load) }
    }
    /// Cancels the load when the widget, and so the slot, is gone.
    private let loadHandle = CancelOnDeinit()
    /// How often something else was asked for.
    private(set) var generation = 0
    /// Fetches the image again, larger, when it is drawn larger than it was decoded.
    var refinement: ImageTask?
    /// Whether that failed: it is not tried again with every frame.
    var hasFailedRefinement = false
    /// Fetches the placeholder.
    private var placeholderTask: ImageTask?
    /// While there is no image for want of a network.
    var networkObservation: ObservationToken?
    var appearance = SlotConfiguration() {
        didSet { target.content?.playback = appearance.playback }
    }
    /// How often the present load was started: it may be broken off and go on later.
    var attempt = 0
    /// Whether the user has asked to try again.
    var ignoresFailures = false
    /// What assistive technology was told.
    var isBusy = false
    var hasSaidFailure = false
    /// Whether what is seen is a part of the image that is loaded, not one that was kept from before.
    var showsOwnPart = false
    /// Made when somebody looks.
    private(set) var progress: ImageProgress?

    init(_ target: any SlotTarget, _ widget: WidgetReference?) {
        self.target = target
        self.widget = widget
        target.content?.onDraw = { [weak self] in self?.drawn($0, $1) }
    }

    deinit {
        loadHandle.cancel()
        refinement?.cancel()
        placeholderTask?.cancel()
    }

    var url: URL? { request?.url }

    /// What the app observes; from the first call on.
    func observedProgress() -> ImageProgress {
        if let progress { return progress }
        let made = ImageProgress()
        if case .shown = stage { made.finish() }
        progress = made
        return made
    }

    /// Starts to load, or joins what is loaded or shown already.
    func set(_ request: SlotRequest, _ completion: ImageLoad.Completion?) -> ImageLoad {
        MainThreadMeter.measure { begin(request, completion) }
    }

    private func begin(_ request: SlotRequest, _ completion: ImageLoad.Completion?) -> ImageLoad {
        if let current = self.request, current.wantsSame(as: request), let load = join(completion) {
            return load
        }
        end(keepingLoad: request.options.contains(.avoidAutoCancel))
        let load = ImageLoad(request.url)
        if let completion { load.add(completion) }
        self.request = request
        self.load = load
        generation += 1
        begin(load, request)
        return load
    }

    func cancel() {
        load?.cancel()
    }

    /// Takes a load that the app has started out of the widget's hands, or puts one into them.
    func replaceLoad(with load: ImageLoad?) -> ImageLoad? {
        let before = self.load
        self.load = nil
        end(keepingLoad: true)
        request = nil
        generation += 1
        self.load = load
        return before
    }

    /// The same image again: neither the load nor the widget is disturbed.
    private func join(_ completion: ImageLoad.Completion?) -> ImageLoad? {
        guard let load, !load.isCancelled else { return nil }
        switch stage {
        case .unmapped, .unsized, .loading:
            if let completion { load.add(completion) }
        case .shown(let response):
            // Shown as it is while the server is asked again.
            if request?.options.contains(.refreshCached) == true { return nil }
            // A transition may be under way that the first completion waits for.
            if load.isFinished { completion?(.success(response)) } else if let completion { load.add(completion) }
        case .idle, .failed, .detached:
            return nil
        }
        return load
    }

    private func end(keepingLoad: Bool) {
        refinement?.cancel()
        refinement = nil
        hasFailedRefinement = false
        ignoresFailures = false
        showsOwnPart = false
        networkObservation = nil
        setFailure(nil)
        endPlaceholder()
        if !keepingLoad { load?.cancel() }
        load = nil
        target.content?.finishTransition()
        endLoading()
        stage = .idle
    }

    func begin(_ load: ImageLoad, _ request: SlotRequest) {
        progress?.reset()
        guard let image = request.image else {
            showPlaceholder(request)
            stage = .failed
            let error = ImageError(
                .invalidURL,
                url: nil,
                reason: "There is no URL",
                remedy: "Nothing to do when the widget was to be cleared."
            )
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { load.finish(.failure(error)) } }
            return
        }
        let size = decodeSize(request)
        if let cached = cachedImage(request, image, size) {
            // Within this call: no placeholder, no turn of the main loop, no flicker.
            guard request.options.contains(.refreshCached) || image.wantsData else {
                finish(load, .success(ImageResponse(image: cached, source: .memory, url: image.url)))
                return
            }
            show(cached, isFromMemory: true)
        } else if !request.options.contains(.delayPlaceholder) {
            showPlaceholder(request)
        }
        beginWhenReady(load, request, size)
    }

    /// Starts at once, or when the widget is there to show something.
    func beginWhenReady(_ load: ImageLoad, _ request: SlotRequest, _ size: DecodeSize?) {
        guard let widget else { return start(load, size ?? .original) }
        guard let pointer = widget.pointer else { return }
        if request.options.contains(.loadUnmapped) {
            start(load, size ?? .original)
        } else if gtk_widget_get_mapped(pointer) == 0 {
            stage = .unmapped
        } else if let size, !pointer.isInList {
            start(load, size)
        } else {
            waitForLayout(pointer)
        }
    }

    // Placeholders

    func showPlaceholder(_ request: SlotRequest) {
        if request.placeholder == nil, request.options.contains(.keepCurrentImage) { return }
        show(request.placeholder, request)
    }

    func show(_ placeholder: Placeholder?, _ request: SlotRequest) {
        endPlaceholder()
        guard target.attach() else { return }
        target.content?.show(placeholder)
        target.changed()
        if case .url(let url) = placeholder?.kind { load(placeholder: url, request) }
    }

    private func load(placeholder url: URL, _ request: SlotRequest) {
        var image = ImageRequest(url: url, priority: .veryHigh, decodeSize: decodeSize(request) ?? .original)
        image.acceptsLarger = true
        image.preparation = TexturePreparation()
        let number = generation
        let task = request.manager.load(image) { [weak self] result in
            MainActor.assumeIsolated {
                guard let self, self.generation == number, case .success(let response) = result else { return }
                self.placeholderTask = nil
                guard self.target.image == nil, self.target.attach() else { return }
                self.target.content?.show(placeholder: response.image)
                self.target.changed()
            }
        }
        if !task.isFinished { placeholderTask = task }
    }

    private func endPlaceholder() {
        placeholderTask?.cancel()
        placeholderTask = nil
    }

    // Sizes

    private func cachedImage(_ request: SlotRequest, _ image: ImageRequest, _ size: DecodeSize?) -> WebImage? {
        guard request.sequence == nil else { return nil }
        guard image.caching.query.contains(.memory), !request.options.contains(.fromLoaderOnly) else { return nil }
        let query = makeRequest(image, size ?? .original)
        return size == nil
            ? request.manager.largestCachedImage(for: query) : request.manager.cachedImage(for: query)
    }

    func makeRequest(_ image: ImageRequest, _ size: DecodeSize) -> ImageRequest {
        var result = image
        result.priority = Self.priority(of: image)
        if ignoresFailures { result.options.insert(.retryFailed) }
        result.decodeSize = size
        if image.transformer == nil {
            result.acceptsLarger = true
        } else if !image.options.contains(.originalSize), let pointer = widget?.pointer {
            // Radii are in the widget's pixels, so the image has to be as large as they are.
            result.displayScale = Double(gtk_widget_get_scale_factor(pointer))
        }
        result.preparation = TexturePreparation()
        return result
    }

    /// On screen.
    static func priority(of image: ImageRequest) -> ImagePriority {
        image.priority == .normal ? .high : image.priority
    }

    /// nil while the widget has no size.
    func decodeSize(_ request: SlotRequest) -> DecodeSize? {
        if let size = request.image?.decodeSize, size != .original { return size }
        return request.options.contains(.originalSize) ? .original : target.decodeSize()
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Whether it is part of a row of a GtkListView or its like. Those bind rows anew that are on screen still, but
    /// will not be after the next layout; a load waits for that.
    fileprivate var isInList: Bool { gtk_widget_get_ancestor(self, gtk_list_base_get_type()) != nil }
}
