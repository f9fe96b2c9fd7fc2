internal import CWebImageGtk4
import WebImageCore

/// Everything that belongs to one load of a slot, and is gone when the slot replaces it.
struct SlotLoad: Sendable {
    /// How far the load is.
    enum State: Sendable {
        case waitingForMap
        /// The widget is mapped and has not been laid out yet.
        case waitingForLayout(PreparedLoad?)
        /// The loads of the widget, or of one around it, are suspended.
        case suspended
        case loading
        case shown(ImageResponse)
        case failed(ImageError)
        /// The widget left its window, which cancelled the load. Another load starts when the widget is mapped again.
        case detached
    }

    /// The load of the same image in more pixels, after it was drawn larger than it was decoded.
    enum Refinement: Sendable {
        case idle
        case loading(ImageTask)
        /// It is not tried again, or each frame would start a load. After a failure that may pass it is: when the widget is mapped or the
        /// image is set, and after a while.
        case failed(isTransient: Bool)
    }

    /// The handle that callers hold. It loads through child tasks, one for each start.
    let task: ImageTask
    /// Without its handlers from the end of the load on: what they capture may hold the widget.
    private(set) var request: BindingRequest
    let image: ImageRequest
    /// Later requests for the same image, whose handlers hear of this load.
    private(set) var joined: [BindingRequest] = []
    /// The newest partial image, for those that join.
    var partialImage: WebImage?
    var state = State.waitingForMap
    /// Whether the user asked for this load, so that a remembered failure does not count.
    var ignoresFailureCache = false
    /// Whether a partial image of this load is on display, rather than the previous image.
    var showsPartialImage = false
    /// Whether that is a preview, which is better than a placeholder when the load fails.
    var showsPreview = false
    var refinement = Refinement.idle
    /// The place of the file that was asked for among the variants of the image, the smallest first; `nil` without variants.
    var variantRank: Int?
    /// Whether the load before has left the image, or a fallback, on display, which is better than a placeholder.
    var keepsImage = false
    /// Set while a load that failed without a connection, or has shown a fallback, waits for the network.
    var networkObservation: ObservationToken?

    init(task: ImageTask, request: BindingRequest, image: ImageRequest) {
        self.task = task
        self.request = request
        self.image = image
    }

    mutating func join(_ request: BindingRequest) { joined.append(request) }

    /// - Returns: The requests with the handlers, which the caller releases when nobody is looking at this load: the objects of the app
    ///   that go with them may use the widget.
    mutating func dropHandlers() -> [BindingRequest] {
        defer { (request, joined) = (request.withoutHandlers, []) }
        return requests
    }

    /// Whether a child task exists that can run to its end.
    var hasStarted: Bool {
        switch state {
        case .waitingForMap, .waitingForLayout, .suspended: false
        case .loading, .shown, .failed, .detached: true
        }
    }

    /// Whether the load waits for its start.
    var isToStart: Bool {
        switch state {
        case .waitingForMap, .waitingForLayout, .suspended: !task.isCancelled
        case .loading, .shown, .failed, .detached: false
        }
    }

    /// Whether the image is in place, maybe in the middle of its transition.
    var isShown: Bool {
        if case .shown = state { true } else { false }
    }

    /// Whether another request for the same image can join.
    var takesMore: Bool {
        switch state {
        case .waitingForMap, .waitingForLayout, .suspended, .loading: true
        // The image itself may be there by now.
        case .shown(let response): response.fallbackError?.isTransient != true
        case .failed, .detached: false
        }
    }

    /// Whether a fallback is on display in place of the image.
    var isFallbackShown: Bool {
        if case .shown(let response) = state { response.fallbackError != nil } else { false }
    }

    var requests: [BindingRequest] { [request] + joined }

    var hasHandlers: Bool { requests.contains { $0.progress != nil || $0.partial != nil } }

    var wantsProgress: Bool { request.progress != nil || joined.contains { $0.progress != nil } }

    var canRefine: Bool {
        guard case .shown = state, case .idle = refinement else { return false }
        return request.sequence == nil && request.options.display != .manual
    }

    func cancelRefinement() {
        if case .loading(let task) = refinement { task.cancel() }
    }

    /// Lets a refinement that has failed for a reason that may be over be tried again.
    mutating func allowRefinement() {
        if case .failed(isTransient: true) = refinement { refinement = .idle }
    }

    /// The size to decode at; `nil` while the widget has none.
    @MainActor
    func decodeSize(in target: any SlotTarget) -> DecodeSize? {
        image.decodeSize ?? target.decodeSize()
    }

    /// Whether an image of several files has one that fits a size better than what was loaded.
    @MainActor
    func hasLargerVariant(for size: DecodeSize, on widget: WidgetReference?) -> Bool {
        guard let variantRank else { return false }
        return request.manager.variantRank(for: makeRequest(size, for: widget)).map { $0 > variantRank } ?? false
    }

    /// The request of a child task.
    /// - Parameter part: One of several images. Default: the image.
    @MainActor
    func makeRequest(
        _ size: DecodeSize,
        for widget: WidgetReference?,
        of part: ImageRequest? = nil
    ) -> ImageRequest {
        var result = (part ?? image).onScreen
        if ignoresFailureCache { result.rememberedFailure = .ignored }
        result.decodeSize = size
        // The manager's request processor may add a transformer, whose radii are in application pixels.
        result.acceptsLarger = true
        if image.decodeSize != .original, let pointer = widget?.pointer { result.displayScale = pointer.deviceScale }
        result.preparation = TexturePreparation()
        return result
    }
}

extension ImageRequest {
    /// The request at the priority of an image on screen, unless the app names another one.
    var onScreen: ImageRequest {
        guard priority == .normal else { return self }
        var request = self
        request.priority = .high
        return request
    }

    /// The priority while the widget is not mapped.
    var offScreenPriority: ImagePriority { min(priority, .low) }
}
