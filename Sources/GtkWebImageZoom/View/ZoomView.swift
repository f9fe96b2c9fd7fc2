internal import CWebImageGtk4
public import GtkWebImage
public import WebImageCore
import WebImageLinux

/// A widget to zoom into a large image, of which only what is seen is decoded: a map, a scan, a photograph of 50 megapixels and more.
///
/// It begins with the whole image, decoded at a small size. Over it come tiles of the part that is visible, with the detail that the
/// screen can show; those that were seen last are kept, a few screens of them. Decoding runs off the main thread, and meanwhile the
/// view shows what there is, so that moving never waits.
///
/// The wheel zooms below the pointer, as pinching does, and two fingers on a touchpad or dragging move the image. A double click
/// changes between the whole image and its pixels. With the focus, + and - zoom, 0 shows the whole image, 1 its pixels, and the
/// arrows, Page Up, Page Down, Home and End move it.
///
///     let view = ZoomView()
///     view.setImageDescription("Map of the town")
///     view.setImage(with: url)
///
/// Its widget is a GtkPicture that fills the room that it is given, so a binding takes its pointer as that of any widget. The image
/// stays when this object goes and the widget does not. Main thread, after `gtk_init`.
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

    /// Shows an image, or nothing. The load starts when the widget is mapped, and the next call cancels it.
    /// - Parameters:
    ///   - request: A URL or an ``/WebImageCore/ImageRequest``, of which the size and the transformer do not matter.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - maximumByteCount: As for ``GtkWebImageZoom/WebImageCore/ImageManager/tiledImage(for:maximumByteCount:)``. Default: 256 MiB.
    ///   - completion: Called once, when the whole image is on screen or the load has failed. Default: nothing is called.
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

    /// The image on display; `nil` before it is loaded.
    public var image: TiledImage? { content.image }

    /// Whether the image, or a tile that is visible, is still to come.
    public var isLoading: Bool { content.isLoading }

    /// Why the last load, or a tile that is visible, has failed; `nil` while all is well. A tile is tried again when it comes into
    /// view again, and after a while where it may succeed then, such as when memory was short.
    public var error: ImageError? { content.error }

    /// Device pixels per pixel of the image, from the whole image in view to ``maximumZoom``. Setting it keeps the middle of the view
    /// where it is. Each image begins as a whole; before it is there, which the completion of `setImage` tells, setting it has no
    /// effect.
    public var zoom: Double {
        get { content.viewport?.zoom ?? 1 }
        set { content.change { $0.set(newValue) } }
    }

    /// The largest ``zoom``, also of images that are set later. Default: 8.
    public var maximumZoom: Double {
        get { content.maximumZoom }
        set { content.maximumZoom = newValue }
    }

    /// Changes ``zoom``, while the image does not move below a point of the widget. Without effect before the image is there.
    /// - Parameters:
    ///   - zoom: Device pixels per pixel of the image.
    ///   - x: The column of the point, in application pixels from the left of the widget.
    ///   - y: The row of the point, in application pixels from the top of the widget.
    public func setZoom(_ zoom: Double, aboutX x: Double, y: Double) {
        content.change { [content] viewport in viewport.set(zoom, about: content.devicePoint(x, y)) }
    }

    /// Shows the whole image, and goes on to when the widget changes its size. An image that is smaller than the widget is not
    /// enlarged. Without effect before the image is there, which begins like that.
    public func zoomToFit() {
        content.change { $0.fit() }
    }

    /// Shows a pixel of the image in the middle, as far as the edges of the image allow. Without effect before the image is there.
    public func center(onX x: Int, y: Int) {
        content.change { $0.move(to: ZoomViewport.Point(x: Double(x) + 0.5, y: Double(y) + 0.5)) }
    }

    /// The part of the image that is visible, in its pixels; `nil` before it is loaded.
    public var visibleRegion: PixelRect? { content.viewport?.visibleRect }

    /// By how much the sides of the image are divided in the tiles that are visible: 1 for all of its detail, 2, 4 and so on for less.
    package var reduction: Int { content.viewport?.grid.reduction ?? 1 }

    /// The bytes of the pixels that the view keeps: the small image and the tiles.
    package var pixelByteCount: Int { content.pixelByteCount }

    /// Called when the zoom, the visible region or the tiles have changed, once in a turn of the main loop. Default: nothing is called.
    public var onChange: (@MainActor () -> Void)? {
        get { content.onChange }
        set { content.onChange = newValue }
    }

    /// Sets the text that assistive technology reads out for the image.
    public func setImageDescription(_ text: String?) {
        WidgetPointer(widget.pointer).setImageDescription(text)
    }
}
