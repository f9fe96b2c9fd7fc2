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

    /// Whether the box has no area, so that nothing can be drawn.
    var isEmpty: Bool { !(width > 0 && height > 0) }

    /// Whether the renderer draws in three dimensions. Those without OpenGL or Vulkan fill whatever is turned out of the
    /// plane with pink instead (gskrendernodeimpl.c), so that it has to be drawn flat.
    var hasDepth: Bool {
        guard let widget, let native = gtk_widget_get_native(widget), let renderer = gtk_native_get_renderer(native)
        else { return false }
        let instance = UnsafeMutableRawPointer(renderer).assumingMemoryBound(to: GTypeInstance.self)
        let name = String(cString: g_type_name_from_instance(instance))
        return name != "GskCairoRenderer" && name != "GskBroadwayRenderer"
    }

    var bounds: graphene_rect_t {
        graphene_rect_t(
            origin: graphene_point_t(x: 0, y: 0),
            size: graphene_size_t(width: Float(width), height: Float(height))
        )
    }

    /// Draws into a box of another size that has the same centre.
    func centered(width: Double, height: Double, _ body: (DrawingContext) -> Void) {
        var inner = self
        (inner.width, inner.height) = (width, height)
        var origin = graphene_point_t(x: Float((self.width - width) / 2), y: Float((self.height - height) / 2))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        body(inner)
        gtk_snapshot_restore(snapshot)
    }

    /// Cuts off whatever `body` draws outside of the box.
    func clipped(_ body: () -> Void) {
        var bounds = bounds
        gtk_snapshot_push_clip(snapshot, &bounds)
        body()
        gtk_snapshot_pop(snapshot)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Device pixels per application pixel, which is a fraction on some Wayland desktops.
    var deviceScale: Double { gwi_widget_get_scale(self) }

    /// The size of the widget in device pixels, of which a fraction counts as a whole one.
    var deviceSize: PixelSize {
        let size = PixelSize(width: Int(gtk_widget_get_width(self)), height: Int(gtk_widget_get_height(self)))
        return size.scaled(by: deviceScale)
    }

    /// The text colour of the widget.
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
