internal import CWebImageBuilderShims
internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import Observation
import WebImageCore
import WebImageLinux

/// What a WebPicture does: it binds the image of its properties, and tells its signals and notifications.
@MainActor
final class WebPictureBehavior {
    /// The widget, which owns this object.
    private let widget: UnsafeMutablePointer<GtkWidget>
    private var view: WidgetPointer { WidgetPointer(UnsafeMutableRawPointer(widget)) }
    private var texts: [GwiWebPictureProperty: String] = [:]
    private var transition = GWI_WEB_PICTURE_NO_TRANSITION
    /// The placeholder of the properties, decoded when a load first needs it.
    private var knownPlaceholder: ImagePlaceholder??
    /// Whether that is blurred, so that a child for failures may be drawn over it.
    private var hasHash = false
    /// The progress of all loads, also of those that the app starts by the other calls of the library.
    private lazy var progress = view.imageProgress
    /// Why the text in `uri` is not loaded at all.
    private var invalidURI: ImageError?
    private var loadCount = 0
    private var isDisposed = false
    /// What the handlers of notifications know.
    private var notified = Status()
    /// Whether the end of the load was signalled.
    private var isSignalled = true

    /// The values of the properties that cannot be set.
    private struct Status {
        var state = GWI_WEB_PICTURE_IDLE
        var progress = 0.0
        var error: String?
    }

    init(_ widget: UnsafeMutableRawPointer) {
        self.widget = widget.assumingMemoryBound(to: GtkWidget.self)
        observe()
    }

    /// Cancels the load. The widget may still be referenced, and shows nothing from now on.
    func dispose() {
        isDisposed = true
        view.cancelImageLoad()
    }

    // Properties

    /// - Returns: Whether the property has changed.
    func set(_ property: GwiWebPictureProperty, _ value: UnsafePointer<GValue>) -> Bool {
        switch property {
        case GWI_WEB_PICTURE_TRANSITION:
            let new = GwiWebPictureTransition(rawValue: UInt32(bitPattern: g_value_get_enum(value)))
            guard new != transition else { return false }
            transition = new
            view.imageTransition = ImageTransition(new)
        case GWI_WEB_PICTURE_RETRY_ON_CLICK:
            let new = g_value_get_boolean(value) != 0
            guard new != view.imageBinding.retriesOnClick else { return false }
            view.imageBinding.retriesOnClick = new
        default:
            let new = g_value_get_string(value).map { String(cString: $0) }
            guard new != texts[property] else {
                // As setImage does, the same URI tries again what has failed.
                if property == GWI_WEB_PICTURE_URI, status.state == GWI_WEB_PICTURE_FAILED { load() }
                return false
            }
            texts[property] = new
            textChanged(property)
        }
        return true
    }

    private func textChanged(_ property: GwiWebPictureProperty) {
        switch property {
        case GWI_WEB_PICTURE_URI, GWI_WEB_PICTURE_SRCSET, GWI_WEB_PICTURE_DARK_URI: load()
        case GWI_WEB_PICTURE_ALTERNATIVE_TEXT: view.setImageDescription(texts[property])
        default:
            knownPlaceholder = nil
            if text(GWI_WEB_PICTURE_URI) == nil || invalidURI != nil {
                load()
            } else if status.state != GWI_WEB_PICTURE_SHOWN {
                view.imageBinding.replacePlaceholder(placeholder)
                showFailure(status)
            }
        }
    }

    func get(_ property: GwiWebPictureProperty, _ value: UnsafeMutablePointer<GValue>) {
        switch property {
        case GWI_WEB_PICTURE_TRANSITION: g_value_set_enum(value, Int32(bitPattern: transition.rawValue))
        case GWI_WEB_PICTURE_RETRY_ON_CLICK: g_value_set_boolean(value, view.imageBinding.retriesOnClick ? 1 : 0)
        case GWI_WEB_PICTURE_STATE: g_value_set_enum(value, Int32(bitPattern: status.state.rawValue))
        case GWI_WEB_PICTURE_PROGRESS: g_value_set_double(value, status.progress)
        case GWI_WEB_PICTURE_ERROR_MESSAGE: g_value_set_string(value, status.error)
        default: g_value_set_string(value, texts[property])
        }
    }

    private func text(_ property: GwiWebPictureProperty) -> String? {
        texts[property].flatMap { $0.isEmpty ? nil : $0 }
    }

    // Loading

    /// Binds the image of the properties, which replaces another one within this call.
    private func load() {
        guard !isDisposed else { return }
        loadCount += 1
        (isSignalled, invalidURI) = (false, nil)
        gwi_web_picture_set_failed(widget, 0, 0)
        guard let uri = text(GWI_WEB_PICTURE_URI) else { return view.clearImage(placeholder: placeholder) }
        let darkURI = text(GWI_WEB_PICTURE_DARK_URI)
        let wrong = [uri, darkURI].compactMap(\.self).first { URL(string: $0) == nil }
        guard wrong == nil, let url = URL(string: uri) else {
            view.clearImage(placeholder: placeholder)
            let remedy = "Set an absolute URI, such as https://example.org/a.png or file:///tmp/a.png."
            let reason = "This is no URI: \((wrong ?? uri).prefix(200))"
            invalidURI = ImageError(.invalidURL, url: nil, reason: reason, remedy: remedy)
            return
        }
        var request = ImageRequest(url: url)
        request.darkURL = darkURI.flatMap { URL(string: $0) }
        if let srcset = text(GWI_WEB_PICTURE_SRCSET) { request.variants = ImageVariants(src: url, srcset: srcset) }
        view.setImage(with: request, placeholder: placeholder)
    }

    /// The placeholder of the properties: a hash, since it resembles the image, otherwise the icon.
    private var placeholder: ImagePlaceholder? {
        if let knownPlaceholder { return knownPlaceholder }
        let hash =
            text(GWI_WEB_PICTURE_THUMB_HASH).flatMap { ImagePlaceholder.thumbHash($0) }
            ?? text(GWI_WEB_PICTURE_BLUR_HASH).flatMap { ImagePlaceholder.blurHash($0) }
        hasHash = hash != nil
        let placeholder = hash ?? text(GWI_WEB_PICTURE_PLACEHOLDER_ICON_NAME).map { .icon($0) }
        knownPlaceholder = .some(placeholder)
        return placeholder
    }

    // Notifications

    private var status: Status {
        if let invalidURI, case .idle = progress.state {
            return Status(state: GWI_WEB_PICTURE_FAILED, error: invalidURI.description)
        }
        switch progress.state {
        case .idle: return Status()
        case .loading: return Status(state: GWI_WEB_PICTURE_LOADING, progress: progress.fraction)
        case .shown: return Status(state: GWI_WEB_PICTURE_SHOWN, progress: 1)
        case .failed(let error): return Status(state: GWI_WEB_PICTURE_FAILED, error: error.description)
        }
    }

    /// Arranges to report the next change in a later turn of the main loop, when GtkBuilder has connected the handlers.
    private func observe() {
        withObservationTracking {
            _ = (progress.state, progress.fraction)
        } onChange: { [weak self] in
            MainLoopDispatcher.shared.dispatch { MainActor.assumeIsolated { self?.report() } }
        }
    }

    private func showFailure(_ status: Status) {
        gwi_web_picture_set_failed(widget, status.state == GWI_WEB_PICTURE_FAILED ? 1 : 0, hasHash ? 0 : 1)
    }

    /// Tells handlers what has changed. Each may bind another image, or dispose of the widget.
    private func report() {
        guard !isDisposed else { return }
        observe()
        g_object_ref(widget)
        defer { g_object_unref(widget) }
        let (old, new, count) = (notified, status, loadCount)
        notified = new
        showFailure(new)
        let object = UnsafeMutableRawPointer(widget).assumingMemoryBound(to: GObject.self)
        if new.state != old.state { g_object_notify(object, "state") }
        if new.progress != old.progress { g_object_notify(object, "progress") }
        if new.error != old.error { g_object_notify(object, "error-message") }
        guard count == loadCount, !isDisposed else { return }
        switch new.state {
        case GWI_WEB_PICTURE_SHOWN, GWI_WEB_PICTURE_FAILED:
            guard !isSignalled else { return }
            isSignalled = true
            gwi_web_picture_emit(widget, new.error)
        default:
            // A load that starts by itself, such as that after a click, is signalled, too.
            isSignalled = false
        }
    }
}

extension ImageTransition {
    /// `nil` for no transition.
    fileprivate init?(_ transition: GwiWebPictureTransition) {
        switch transition {
        case GWI_WEB_PICTURE_CROSSFADE: self = .crossfade()
        case GWI_WEB_PICTURE_SLIDE: self = .slide()
        case GWI_WEB_PICTURE_UNCOVER: self = .uncover()
        case GWI_WEB_PICTURE_FLIP: self = .flip()
        case GWI_WEB_PICTURE_ZOOM: self = .zoom()
        default: return nil
        }
    }
}
