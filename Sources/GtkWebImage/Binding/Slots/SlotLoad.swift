internal import CWebImageGtk4
import WebImageCore

/// The state of one load. The slot replaces it as a whole. An object, because a copy would retain all that it holds.
@MainActor
final class SlotLoad {
    /// The progress of the load.
    enum State: Sendable {
        case waitingForMap
        /// The widget is mapped and has not been laid out yet.
        case waitingForLayout(PreparedLoad?)
        /// The loads of the widget, or of one of its parents, are suspended.
        case suspended
        case loading
        case shown(ImageResponse)
        case failed(ImageError)
        /// The widget left its window, which cancelled the load. A new load starts when the widget is mapped again.
        case detached
    }

    /// The handle that callers hold. It starts when the size is known, at the priority of an image on screen.
    let task: ImageTask
    /// The request, without its handlers after the end of the load, because they may capture the widget.
    var request: BindingRequest
    let manager: ImageManager
    /// Later requests for the same image, whose handlers are also called.
    private(set) var joined: [BindingRequest] = []
    /// The newest partial image, for requests that join.
    var partialImage: WebImage?
    var state = State.waitingForMap
    /// Whether the user asked for this load, so that a remembered failure is ignored.
    var ignoresFailureCache = false
    /// Whether a partial image of this load is on display, rather than the previous image.
    var showsPartialImage = false
    /// Whether that partial image is a preview, which is better than a placeholder if the load fails.
    var showsPreview = false
    var refinement = Refinement.idle
    /// The rank of the requested file among the variants of the image, the smallest first; `nil` without variants.
    var variantRank: Int?
    /// Whether the image has another file for a dark style.
    let hasDarkImage: Bool
    /// Whether the image is the one for a dark style, if it has one.
    var isDark = false
    /// Whether the previous load has left the image, or a fallback, on display, which is better than a placeholder.
    var keepsImage = false
    /// Set while a load that failed without a connection, or has shown a fallback, waits for the network.
    var networkObservation: ObservationToken?

    init(
        of image: ImageRequest,
        for request: BindingRequest,
        by manager: ImageManager,
        _ completion: ImageSlot.Completion? = nil
    ) {
        var image = image
        image.priority = image.onScreenPriority
        task = ImageTask(binding: image, in: manager.pipeline, completion: completion)
        (self.request, self.manager) = (request, manager)
        hasDarkImage = image.darkURL != nil
    }

    deinit {
        if case .loading(let task) = refinement { task.cancel() }
    }

    func join(_ request: BindingRequest) { joined.append(request) }

    /// - Returns: The requests with their handlers. The caller releases them while nothing accesses this load, because
    ///   objects of the app that are released with them may use the widget.
    func dropHandlers() -> [BindingRequest] {
        defer { (request, joined) = (request.withoutHandlers, []) }
        return requests
    }

    /// Whether a load exists that can run to its end.
    var hasStarted: Bool {
        switch state {
        case .waitingForMap, .waitingForLayout, .suspended: false
        case .loading, .shown, .failed, .detached: true
        }
    }

    /// Whether the load waits for its start.
    var isToStart: Bool { !hasStarted && !task.isCancelled }

    /// Whether the image is in place, possibly during its transition.
    var isShown: Bool {
        if case .shown = state { true } else { false }
    }

    /// Whether another request for the same image can join.
    var takesMore: Bool {
        switch state {
        case .waitingForMap, .waitingForLayout, .suspended, .loading: true
        // The image itself may be available by now.
        case .shown(let response): response.fallbackError?.isTransient != true
        case .failed, .detached: false
        }
    }

    /// Whether a fallback is on display instead of the image.
    var isFallbackShown: Bool {
        if case .shown(let response) = state { response.fallbackError != nil } else { false }
    }

    var requests: [BindingRequest] { [request] + joined }

    /// The request of the app.
    var image: ImageRequest { request.image ?? task.request }

    /// The request of the app for the file of the current style.
    var imageInStyle: ImageRequest? { request.image?.inStyle(isDark: isDark) }

    var hasHandlers: Bool { requests.contains { $0.progress != nil || $0.partial != nil } }

    var wantsProgress: Bool { request.progress != nil || joined.contains { $0.progress != nil } }
}

/// A request of a load that is about to start.
struct PreparedLoad: Sendable {
    /// `nil` if memory was asked for an image of any size, because the widget had none.
    let size: DecodeSize?
    let scale: Double?
    let request: PreparedRequest

    /// The request at the size of the widget; `nil` if it has to be prepared again.
    @MainActor
    func request(at size: DecodeSize, on widget: WidgetReference?) -> PreparedRequest? {
        guard scale == nil || scale == widget?.pointer?.deviceScale else { return nil }
        if size == self.size ?? .original { return request }
        guard self.size == nil, request.isForAnySize else { return nil }
        var request = request
        request.request.decodeSize = size
        return request
    }
}

extension ImageRequest {
    /// The priority of an image on screen, unless the app has set another one.
    var onScreenPriority: ImagePriority { priority == .normal ? .high : priority }

    /// The priority while the widget is not mapped.
    var offScreenPriority: ImagePriority { min(priority, .low) }
}
