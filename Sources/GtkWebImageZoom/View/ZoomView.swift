internal import CWebImageGtk4
public import GtkWebImage
public import WebImageCore
import WebImageLinux

/// A widget for zooming into a large image that decodes only visible parts: a map, a scan, or a photograph of 50 megapixels and
/// more.
///
/// It first shows the whole image, decoded at a small size, and then tiles of the visible part in the detail of the screen. It
/// keeps the most recent tiles, a few screens of them. Decoding runs off the main thread, and the view shows what has been decoded,
/// so moving never waits.
///
/// The mouse wheel and pinching zoom at the pointer. Scrolling with two fingers on a touchpad, or dragging, moves the image. A
/// double click switches between the whole image and actual pixels. With the focus, + and - zoom, 0 shows the whole image, 1 shows
/// actual pixels, and the arrow keys, Page Up, Page Down, Home and End move the image.
///
///     let view = ZoomView()
///     view.setImageDescription("Map of the town")
///     view.setImage(with: url)
///
/// The widget is a GtkPicture that fills the available space, and bindings accept its pointer like any widget's. The image stays if
/// the widget outlives this object. Main thread, after `gtk_init`.
@preconcurrency @MainActor
public final class ZoomView: GtkWidgetConvertible {
    private let widget: GObjectBox
    private let paintable: GObjectBox
    private let content: ZoomContent

    /// Creates a widget without an image. Main thread, after `gtk_init`.
    public init() {
        guard gtk_is_initialized() != 0, let picture = gtk_picture_new() else {
            fatalError("GTK is not initialized, so there can be no widgets. Call gtk_init first.")
        }
        widget = GObjectBox(retaining: UnsafeMutableRawPointer(picture), releaseOn: .laterOnMain)
        content = ZoomContent(picture)
        paintable = GObjectBox(adopting: UnsafeMutableRawPointer(content.native))
        gtk_picture_set_paintable(OpaquePointer(picture), content.native)
        gtk_widget_set_hexpand(picture, 1)
        gtk_widget_set_vexpand(picture, 1)
        gtk_widget_set_focusable(picture, 1)
        gtk_widget_set_overflow(picture, GTK_OVERFLOW_HIDDEN)
        ZoomInput.connect(picture, to: content)
    }

    /// The `GtkWidget *`, valid while this object or its parent lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }

    /// Shows an image, or nothing. The load starts when the widget is mapped; the next call cancels it.
    /// - Parameters:
    ///   - request: A URL or an ``/WebImageCore/ImageRequest``, whose size and transformer are ignored.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - maximumByteCount: See ``GtkWebImageZoom/WebImageCore/ImageManager/tiledImage(for:maximumByteCount:)``. Default: 256 MiB.
    ///   - completion: Called once, when the whole image is on screen or the load has failed. Default: none.
    public func setImage(
        with request: (some ImageRequestConvertible)?,
        manager: ImageManager = .shared,
        maximumByteCount: Int = 256 << 20,
        completion: (@MainActor @Sendable (Result<TiledImage, ImageError>) -> Void)? = nil
    ) {
        guard let request = request?.imageRequest else {
            content.load(nil)
            let remedy = "Pass a URL, or no completion to clear the view."
            let error = ImageError(.invalidURL, url: nil, reason: "There is no URL", remedy: remedy)
            return MainLoopDispatcher.shared.dispatch {
                MainActor.assumeIsolated { completion?(.failure(error)) }
            }
        }
        content.load(
            ZoomContent.Load(request: request, manager: manager, limit: maximumByteCount, completion: completion)
        )
    }

    /// The image on display; `nil` until it has loaded.
    public var image: TiledImage? { content.image }

    /// Whether the image, or a visible tile, is loading.
    public var isLoading: Bool { content.isLoading }

    /// Why the last load, or a visible tile, failed; `nil` otherwise. A failed tile is retried when it comes into view again and,
    /// if the cause may pass, such as a lack of memory, after a delay.
    public var error: ImageError? { content.error }

    /// Device pixels per pixel of the image, from the whole image in view to ``maximumZoom``. Setting it keeps the middle of the
    /// view in place. Each image starts whole. Setting it has no effect until the image has loaded, which the completion of
    /// `setImage` reports.
    public var zoom: Double {
        get { content.viewport?.zoom ?? 1 }
        set { content.change { $0.set(newValue) } }
    }

    /// The largest ``zoom``, for this and later images. Default: 8.
    public var maximumZoom: Double {
        get { content.maximumZoom }
        set { content.maximumZoom = newValue }
    }

    /// Changes ``zoom`` and keeps a point of the widget over the same point of the image. No effect until the image has loaded.
    /// - Parameters:
    ///   - zoom: Device pixels per pixel of the image.
    ///   - x: The column of the point, in application pixels from the left of the widget.
    ///   - y: The row of the point, in application pixels from the top of the widget.
    public func setZoom(_ zoom: Double, aboutX x: Double, y: Double) {
        content.change { [content] viewport in viewport.set(zoom, about: content.devicePoint(x, y)) }
    }

    /// Shows the whole image, even after the widget changes its size. An image smaller than the widget is not enlarged. No effect
    /// until the image has loaded; it starts this way.
    public func zoomToFit() {
        content.change { $0.fit() }
    }

    /// Centers the view on a pixel, as far as the edges of the image allow. No effect until the image has loaded.
    public func center(onX x: Int, y: Int) {
        content.change { $0.move(to: ZoomViewport.Point(x: Double(x) + 0.5, y: Double(y) + 0.5)) }
    }

    /// The visible part of the image, in pixels of the image; `nil` until it has loaded.
    public var visibleRegion: PixelRect? { content.viewport?.visibleRect }

    /// The factor by which the visible tiles reduce the image: 1 for full detail, then 2, 4 and so on.
    package var reduction: Int { content.viewport?.grid.reduction ?? 1 }

    /// The bytes of the pixels that the view keeps: the small image and the tiles.
    package var pixelByteCount: Int { content.pixelByteCount }

    /// Called when the zoom, the visible region or the tiles have changed, at most once per turn of the main loop. Default: none.
    public var onChange: (@MainActor () -> Void)? {
        get { content.onChange }
        set { content.onChange = newValue }
    }

    /// Sets the text that assistive technology reads for the image.
    public func setImageDescription(_ text: String?) {
        WidgetPointer(widget.pointer).setImageDescription(text)
    }
}
