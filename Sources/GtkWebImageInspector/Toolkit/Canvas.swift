internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageLinux

/// A widget that a closure draws. It requests no size and receives no input.
@MainActor
final class Canvas {
    let widget: Widget
    /// The GdkPaintable that calls the closure. The widget also retains it until it is destroyed.
    private let paintable: GObjectBox
    let content = Content()

    /// The closure and its widget. The paintable owns this object.
    @MainActor
    final class Content {
        /// The drawn widget. It is alive while the paintable draws.
        fileprivate var widget: Widget?
        /// Draws the widget. The closure must capture its owner weakly.
        var draw: (Painter) -> Void = { _ in }
    }

    init() {
        let native = gwi_paintable_new(CanvasCallbacks.table)!
        gwi_paintable_set_context(native, Unmanaged.passRetained(content).toOpaque())
        paintable = GObjectBox(adopting: UnsafeMutableRawPointer(native))
        widget = gtk_picture_new_for_paintable(native)!
        gtk_picture_set_content_fit(widget.native, GTK_CONTENT_FIT_FILL)
        gtk_widget_set_can_target(widget, 0)
        content.widget = widget
    }

    func invalidate() {
        gdk_paintable_invalidate_contents(paintable.opaquePointer)
    }
}

/// One drawing pass of a canvas, in application pixels.
@MainActor
struct Painter {
    let width: Double
    let height: Double
    fileprivate let snapshot: OpaquePointer
    fileprivate let widget: Widget

    /// The text color with reduced alpha.
    func foreground(_ alpha: Float) -> GdkRGBA {
        var color = GdkRGBA()
        gwi_widget_get_color(widget, &color)
        color.alpha *= alpha
        return color
    }

    func fill(_ box: Box, _ color: GdkRGBA) {
        var (bounds, color) = (box.native, color)
        gtk_snapshot_append_color(snapshot, &color, &bounds)
    }

    func fill(_ box: Box, radius: Float, _ color: GdkRGBA) {
        var (bounds, rounded) = (box.native, GskRoundedRect())
        gsk_rounded_rect_init_from_rect(&rounded, &bounds, radius)
        gtk_snapshot_push_rounded_clip(snapshot, &rounded)
        fill(box, color)
        gtk_snapshot_pop(snapshot)
    }

    func stroke(_ box: Box, radius: Float, width: Float, _ color: GdkRGBA) {
        var (bounds, rounded) = (box.native, GskRoundedRect())
        gsk_rounded_rect_init_from_rect(&rounded, &bounds, radius)
        let (widths, colors) = (Array(repeating: width, count: 4), Array(repeating: color, count: 4))
        gtk_snapshot_append_border(snapshot, &rounded, widths, colors)
    }

    /// A line of small text.
    func makeText(_ text: String) -> DrawnText { DrawnText(text, widget) }

    func draw(_ text: DrawnText, x: Double, y: Double, _ color: GdkRGBA) {
        var (origin, color) = (graphene_point_t(x: Float(x), y: Float(y)), color)
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        gtk_snapshot_append_layout(snapshot, text.layout, &color)
        gtk_snapshot_restore(snapshot)
    }
}

/// A laid out line of text at three quarters of the size of the widget's font.
@MainActor
struct DrawnText {
    private let object: GObjectBox
    let width: Double
    let height: Double

    fileprivate init(_ text: String, _ widget: Widget) {
        let layout = gtk_widget_create_pango_layout(widget, text)!
        object = GObjectBox(adopting: UnsafeMutableRawPointer(layout))
        let attributes = pango_attr_list_new()
        pango_attr_list_insert(attributes, pango_attr_scale_new(0.75))
        pango_layout_set_attributes(layout, attributes)
        pango_attr_list_unref(attributes)
        var (width, height) = (Int32(0), Int32(0))
        pango_layout_get_pixel_size(layout, &width, &height)
        (self.width, self.height) = (Double(width), Double(height))
    }

    var layout: OpaquePointer { object.opaquePointer }
}

/// A rectangle in application pixels.
struct Box: Equatable {
    var x: Double
    var y: Double
    var width: Double
    var height: Double

    fileprivate var native: graphene_rect_t {
        graphene_rect_t(
            origin: graphene_point_t(x: Float(x), y: Float(y)),
            size: graphene_size_t(width: Float(max(width, 0)), height: Float(max(height, 0)))
        )
    }
}

/// The callbacks of the paintable. GTK calls them on the main thread, except `release`.
private enum CanvasCallbacks {
    /// The table is allocated once and never freed, like a class structure.
    @MainActor static let table: UnsafePointer<GwiPaintableFunctions> = {
        let table = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    let content = Unmanaged<Canvas.Content>.fromOpaque(context!).takeUnretainedValue()
                    MainActor.assumeIsolated {
                        guard let widget = content.widget, let snapshot = OpaquePointer(bitPattern: address) else {
                            return
                        }
                        content.draw(Painter(width: width, height: height, snapshot: snapshot, widget: widget))
                    }
                },
                current_image: { _ in gdk_paintable_new_empty(0, 0) },
                width: { _ in 0 },
                height: { _ in 0 },
                aspect_ratio: { _ in 0 },
                release: { context in Unmanaged<Canvas.Content>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()
}
