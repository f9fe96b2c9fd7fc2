internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageCore

/// One pass of drawing: the snapshot, the box to fill, and the widget whose style applies.
@MainActor
struct DrawingContext {
    /// The GtkSnapshot.
    let snapshot: OpaquePointer
    /// The width of the box in application pixels.
    var width: Double
    /// The height of the box in application pixels.
    var height: Double
    /// The widget that is drawn, if it is known.
    let widget: UnsafeMutablePointer<GtkWidget>?
    /// The part of the box that the widget shows.
    var overhang = Overhang()

    /// Whether the box has no area, so that nothing can be drawn.
    var isEmpty: Bool { !(width > 0 && height > 0) }

    /// Whether the renderer draws in three dimensions. Renderers without OpenGL or Vulkan fill anything turned out of
    /// the plane with pink (gskrendernodeimpl.c), so it must be drawn flat.
    var hasDepth: Bool {
        guard let widget, let native = gtk_widget_get_native(widget), let renderer = gtk_native_get_renderer(native)
        else { return false }
        let instance = UnsafeMutableRawPointer(renderer).assumingMemoryBound(to: GTypeInstance.self)
        let name = String(cString: g_type_name_from_instance(instance))
        return name != "GskCairoRenderer" && name != "GskBroadwayRenderer"
    }

    /// The direction in which the widget is laid out.
    var direction: GtkTextDirection {
        widget.map { gtk_widget_get_direction($0) } ?? gtk_widget_get_default_direction()
    }

    var bounds: graphene_rect_t {
        graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0),
            size: graphene_size_t(width: Float(width), height: Float(height))
        )
    }

    /// Draws into a larger box, placed so that a point of it is as near to the center of this box as the edges of the
    /// larger box allow. A smaller box has the same center.
    func centered(width: Double, height: Double, focus: ImagePoint = .center, _ body: (DrawingContext) -> Void) {
        var inner = self
        (inner.width, inner.height) = (width, height)
        func start(of length: Double, in box: Double, at fraction: Double) -> Double {
            length > box ? -ImagePoint.overhang(at: fraction, showing: box, of: length) : (box - length) / 2
        }
        moved(
            x: start(of: width, in: self.width, at: focus.x),
            y: start(of: height, in: self.height, at: focus.y)
        ) { body(inner) }
    }

    /// Draws the box so that the widget shows the part around a point. With the middle as the point, this changes nothing.
    func focused(on focus: ImagePoint, _ body: (DrawingContext) -> Void) {
        guard !overhang.isEmpty else { return body(self) }
        moved(x: overhang.shift(to: focus.x, \.width, of: width), y: overhang.shift(to: focus.y, \.height, of: height))
        {
            body(self)
        }
    }

    /// Draws into the part of the box that the widget shows.
    func visible(_ body: (DrawingContext) -> Void) {
        guard !overhang.isEmpty else { return body(self) }
        var inner = self
        (inner.width, inner.height) = (width - overhang.width.length, height - overhang.height.length)
        inner.overhang = Overhang()
        moved(x: overhang.width.start, y: overhang.height.start) { body(inner) }
    }

    private func moved(x: Double, y: Double, _ body: () -> Void) {
        var origin = graphene_point_t(x: Float(x), y: Float(y))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        body()
        gtk_snapshot_restore(snapshot)
    }

    /// Clips everything that `body` draws outside of the box.
    func clipped(_ body: () -> Void) {
        clipped(to: bounds, body)
    }

    /// Clips everything that `body` draws outside of the part of the box that the widget shows.
    func clippedToVisible(_ body: () -> Void) {
        guard !overhang.isEmpty else { return body() }
        let (width, height) = (width - overhang.width.length, height - overhang.height.length)
        let area = graphene_rect_t(
            origin: graphene_point_t(x: Float(overhang.width.start), y: Float(overhang.height.start)),
            size: graphene_size_t(width: Float(width), height: Float(height))
        )
        clipped(to: area, body)
    }

    private func clipped(to area: graphene_rect_t, _ body: () -> Void) {
        var area = area
        gtk_snapshot_push_clip(snapshot, &area)
        body()
        gtk_snapshot_pop(snapshot)
    }
}

/// How far a box extends beyond the widget that shows its middle, as with GtkPicture and an image that covers it.
struct Overhang {
    /// The overhang on both ends of a side.
    struct Side {
        /// The part of the side that the widget does not show.
        var length = 0.0
        /// The hidden part at the left or the top.
        var start = 0.0
    }

    var width = Side()
    var height = Side()

    var isEmpty: Bool { width.length <= 0 && height.length <= 0 }

    /// How far the box must be moved so that the widget shows the part around a point.
    func shift(to fraction: Double, _ side: KeyPath<Overhang, Side>, of length: Double) -> Double {
        let side = self[keyPath: side]
        guard side.length > 0 else { return 0 }
        return side.start - ImagePoint.overhang(at: fraction, showing: length - side.length, of: length)
    }
}

extension Overhang.Side {
    /// The overhang of a side. GtkPicture shows the middle of the side in whole pixels (gtk_picture_snapshot).
    init(of length: Double, in shown: Double) {
        guard shown > 0, length > shown else { return }
        self.length = length - shown
        start = ((length.rounded(.up) - shown) / 2).rounded(.down)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Device pixels per application pixel, which is a fraction on some Wayland desktops.
    var deviceScale: Double { gwi_widget_get_scale(self) }

    /// The text color of the widget.
    var textColor: GdkRGBA {
        var color = GdkRGBA()
        gwi_widget_get_color(self, &color)
        return color
    }
}

extension GdkRGBA {
    init(_ color: ImageColor) {
        func channel(_ shift: UInt32) -> Float { Float(color.rgba >> shift & 255) / 255 }
        self.init(red: channel(24), green: channel(16), blue: channel(8), alpha: channel(0))
    }
}
