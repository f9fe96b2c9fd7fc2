internal import CWebImageGtk4
import FoundationEssentials
import WebImageCore
import WebImageLinux

/// The load of one widget under one key: what is wanted, how far it is, and what may touch the widget.
///
/// Only the load that is in `load` may: a superseded one finds another in its place.
@MainActor
final class ImageSlot {
    private enum Stage {
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
    private let widget: WidgetReference
    private var request: SlotRequest?
    private var stage = Stage.idle
    private(set) var load: ImageLoad? {
        didSet { loadHandle.set(load) }
    }
    /// Cancels the load when the widget, and so the slot, is gone.
    private let loadHandle = LoadHandle()
    /// Fetches the picture again, larger, when it is drawn larger than it was decoded.
    private var refinement: ImageTask?
    /// Whether that failed: it is not tried again with every frame.
    private var hasFailedRefinement = false
    /// While there is no picture for want of a network.
    private var networkObservation: (any AnyObject & Sendable)?

    init(_ target: any SlotTarget, _ widget: WidgetReference) {
        self.target = target
        self.widget = widget
        target.onOutgrown = { [weak self] in self?.outgrown() }
    }

    deinit {
        loadHandle.cancel()
    }

    var url: URL? { request?.url }

    /// Starts to load, or joins what is loaded or shown already.
    func set(_ request: SlotRequest, _ completion: ImageLoad.Completion?) -> ImageLoad {
        if let current = self.request, current.wantsSame(as: request), let load = join(completion) {
            return load
        }
        end()
        let load = ImageLoad(request.url)
        if let completion { load.add(completion) }
        self.request = request
        self.load = load
        begin(load, request)
        return load
    }

    func cancel() {
        load?.cancel()
    }

    /// The same picture again: neither the load nor the widget is disturbed.
    private func join(_ completion: ImageLoad.Completion?) -> ImageLoad? {
        guard let load, !load.isCancelled else { return nil }
        switch stage {
        case .unmapped, .unsized, .loading:
            if let completion { load.add(completion) }
        case .shown(let response):
            // Shown as it is while the server is asked again.
            if request?.options.contains(.refreshCached) == true { return nil }
            completion?(.success(response))
        case .idle, .failed, .detached:
            return nil
        }
        return load
    }

    private func end() {
        refinement?.cancel()
        refinement = nil
        hasFailedRefinement = false
        networkObservation = nil
        load?.cancel()
        load = nil
        stage = .idle
    }

    private func begin(_ load: ImageLoad, _ request: SlotRequest) {
        guard let url = request.url else {
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
        if let image = cachedImage(request, url, size) {
            // Within this call: no placeholder, no turn of the main loop, no flicker.
            guard request.options.contains(.refreshCached) else {
                finish(load, .success(ImageResponse(image: image, source: .memory, url: url)))
                return
            }
            if !request.options.contains(.avoidAutoSetImage) { target.show(image) }
        } else if !request.options.contains(.delayPlaceholder) {
            showPlaceholder(request)
        }
        guard let pointer = widget.pointer else { return }
        if request.options.contains(.loadUnmapped) {
            start(load, size ?? .original)
        } else if gtk_widget_get_mapped(pointer) == 0 {
            stage = .unmapped
        } else if let size {
            start(load, size)
        } else {
            waitForLayout(pointer)
        }
    }

    private func showPlaceholder(_ request: SlotRequest) {
        if request.placeholder == nil, request.options.contains(.keepCurrentImage) { return }
        target.show(request.placeholder)
    }

    private func cachedImage(_ request: SlotRequest, _ url: URL, _ size: DecodeSize?) -> WebImage? {
        guard !request.options.contains(.fromLoaderOnly) else { return nil }
        let query = makeRequest(request, url, size ?? .original)
        return request.manager.cachedImage(for: query, anySize: size == nil)
    }

    private func makeRequest(_ request: SlotRequest, _ url: URL, _ size: DecodeSize) -> ImageRequest {
        var result = ImageRequest(
            url: url,
            options: request.options,
            priority: .high,
            decodeSize: size,
            transformer: request.transformer
        )
        if request.transformer == nil {
            result.acceptsLarger = true
        } else if !request.options.contains(.originalSize), let pointer = widget.pointer {
            // Radii are in the widget's pixels, so the picture has to be as large as they are.
            result.displayScale = Double(gtk_widget_get_scale_factor(pointer))
        }
        result.preparation = TexturePreparation()
        return result
    }

    /// `nil` while the widget has no size.
    private func decodeSize(_ request: SlotRequest) -> DecodeSize? {
        guard !request.options.contains(.originalSize), let pointer = widget.pointer else { return .original }
        return target.decodeSize(in: pointer)
    }
}

// Starting and ending.
extension ImageSlot {
    private func start(_ load: ImageLoad, _ size: DecodeSize) {
        guard let request, let url = request.url else { return }
        stage = .loading
        var progress: (@Sendable (Int64, Int64?) -> Void)?
        if let handler = request.progress {
            progress = { received, expected in MainActor.assumeIsolated { handler(received, expected) } }
        }
        let task = request.manager.load(
            makeRequest(request, url, size),
            progress: progress,
            partial: { [weak self] image in
                MainActor.assumeIsolated { self?.show(partial: image, load) }
            },
            completion: { [weak self] result in
                MainActor.assumeIsolated {
                    if let self, self.load === load { self.finish(load, result) } else { load.finish(result) }
                }
            }
        )
        load.attach(task)
    }

    private func show(partial image: WebImage, _ load: ImageLoad) {
        guard self.load === load, !load.isCancelled, let request else { return }
        if !request.options.contains(.avoidAutoSetImage) { target.show(image) }
        request.partial?(image)
    }

    /// Puts the picture in place, then tells.
    private func finish(_ load: ImageLoad, _ result: Result<ImageResponse, ImageError>) {
        guard let request else { return load.finish(result) }
        switch result {
        case .success(let response):
            stage = .shown(response)
            if !request.options.contains(.avoidAutoSetImage) { target.show(response.image) }
        case .failure(let error):
            stage = .failed
            if request.options.contains(.delayPlaceholder) { showPlaceholder(request) }
            if error.isForWantOfNetwork { awaitNetwork(request.manager) }
        }
        load.finish(result)
    }

    /// The completions have had their error; the picture comes all the same when the network is back.
    private func awaitNetwork(_ manager: ImageManager) {
        networkObservation = manager.observeNetwork { [weak self] status in
            guard status.isAvailable else { return }
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { self?.networkReturned() } }
        }
    }

    private func networkReturned() {
        guard case .failed = stage, networkObservation != nil, let request else { return }
        networkObservation = nil
        let again = ImageLoad(request.url)
        load = again
        begin(again, request)
    }
}

// What happens to the widget.
extension ImageSlot {
    func widgetMapped() {
        guard let request, let pointer = widget.pointer else { return }
        switch stage {
        case .unmapped:
            guard let load, !load.isCancelled else { return }
            if let size = decodeSize(request) { start(load, size) } else { waitForLayout(pointer) }
        case .loading:
            load?.setPriority(.high)
        case .detached:
            // Its completions have had their cancel; the picture comes back all the same.
            let again = ImageLoad(request.url)
            self.load = again
            begin(again, request)
        case .idle, .unsized, .shown, .failed:
            break
        }
    }

    /// Off screen is no reason to give up: lists and stacks come back. It lets the visible ones go first.
    func widgetUnmapped() {
        switch stage {
        case .unsized: stage = .unmapped
        case .loading: load?.setPriority(.low)
        case .idle, .unmapped, .shown, .failed, .detached: break
        }
    }

    func widgetUnrooted() {
        refinement?.cancel()
        refinement = nil
        switch stage {
        case .unmapped, .unsized, .loading:
            // Taken out first: the cancelled load touches nothing any more.
            let ended = load
            load = nil
            stage = .detached
            ended?.cancel()
        case .idle, .shown, .failed, .detached:
            break
        }
    }

    private func waitForLayout(_ pointer: UnsafeMutablePointer<GtkWidget>) {
        stage = .unsized
        LayoutWaiter.wait(for: pointer) { [weak self] in
            guard let self, case .unsized = self.stage, let load = self.load, !load.isCancelled,
                let request = self.request
            else { return }
            // A widget that has no size of its own gets that of its picture.
            self.start(load, self.decodeSize(request) ?? .original)
        }
    }

    /// Within GTK's snapshot; so later.
    private func outgrown() {
        guard refinement == nil, !hasFailedRefinement, case .shown = stage, let request, let url = request.url,
            let load,
            !request.options.contains(.avoidAutoSetImage), let size = decodeSize(request),
            let image = target.image, size.target(for: image.naturalSizeBeforeTransform) != image.decodedSize
        else { return }
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated { self?.refine(request, url, size, load) }
        }
    }

    private func refine(_ request: SlotRequest, _ url: URL, _ size: DecodeSize, _ load: ImageLoad) {
        guard self.load === load, refinement == nil, case .shown = stage else { return }
        refinement = request.manager.load(makeRequest(request, url, size)) { [weak self] result in
            MainActor.assumeIsolated {
                guard let self, self.load === load else { return }
                self.refinement = nil
                switch result {
                case .success(let response): self.target.show(response.image)
                case .failure(let error): self.hasFailedRefinement = !error.isCancelled
                }
            }
        }
    }
}

extension ImageError {
    /// Whether it may be the network that is missing, not the picture.
    fileprivate var isForWantOfNetwork: Bool { [.offline, .hostNotFound, .connectionFailed].contains(code) }
}
