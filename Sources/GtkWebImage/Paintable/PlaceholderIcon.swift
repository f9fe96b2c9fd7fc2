internal import CWebImageGtk4

/// An icon of the icon theme, looked up once.
@MainActor
final class PlaceholderIcon {
    private let paintable: OpaquePointer
    private let owned: GObjectReference

    /// - Returns: `nil` when there is no display.
    init?(_ name: String, pixelSize: Int, for widget: UnsafeMutablePointer<GtkWidget>?) {
        guard let display = gdk_display_get_default() else { return nil }
        let scale = widget.map { gtk_widget_get_scale_factor($0) } ?? 1
        let theme = gtk_icon_theme_get_for_display(display)
        let flags = GtkIconLookupFlags(rawValue: 0)
        let direction = GTK_TEXT_DIR_NONE
        guard let icon = gtk_icon_theme_lookup_icon(theme, name, nil, Int32(pixelSize), scale, direction, flags) else {
            return nil
        }
        paintable = icon
        owned = GObjectReference(icon)
    }

    deinit {
        owned.releaseOnMainThread()
    }

    /// Draws a square; a symbolic icon in the widget's colour of text.
    func draw(_ snapshot: OpaquePointer, side: Double, for widget: UnsafeMutablePointer<GtkWidget>?) {
        var colors: [GdkRGBA] = []
        if let widget {
            var color = GdkRGBA()
            gtk_style_context_get_color(gtk_widget_get_style_context(widget), &color)
            // Foreground, error, warning, success (GtkSymbolicColor): a placeholder has one colour.
            colors = [color, color, color, color]
        }
        gtk_symbolic_paintable_snapshot_symbolic(paintable, snapshot, side, side, colors, gsize(colors.count))
    }
}
