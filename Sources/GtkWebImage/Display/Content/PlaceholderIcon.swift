internal import CWebImageGtk4
import WebImageLinux

/// A themed icon, looked up when it is first drawn.
@MainActor
final class PlaceholderIcon {
    let name: String
    /// Width and height in application pixels.
    let pixelSize: Int
    private var found: (icon: GObjectBox, scale: Int32, direction: GtkTextDirection)?

    init(_ name: String, pixelSize: Int) {
        self.name = name
        self.pixelSize = pixelSize
    }

    /// Draws the icon into a square box. A symbolic icon has the text color of the widget.
    func draw(in context: DrawingContext) {
        guard let icon = icon(for: context.widget, context.direction) else { return }
        var colors: [GdkRGBA] = []
        if let widget = context.widget {
            // Foreground, error, warning and success (GtkSymbolicColor) are all the same, because a placeholder has one color.
            colors = Array(repeating: widget.textColor, count: 4)
        }
        let (snapshot, count) = (context.snapshot, gsize(colors.count))
        gtk_symbolic_paintable_snapshot_symbolic(icon, snapshot, context.width, context.height, colors, count)
    }

    /// - Returns: `nil` without a display.
    private func icon(for widget: UnsafeMutablePointer<GtkWidget>?, _ direction: GtkTextDirection) -> OpaquePointer? {
        let scale = widget.map { gtk_widget_get_scale_factor($0) } ?? 1
        if let found, found.scale == scale, found.direction == direction { return found.icon.opaquePointer }
        guard let display = gdk_display_get_default() else { return nil }
        let theme = gtk_icon_theme_get_for_display(display)
        let flags = GtkIconLookupFlags(rawValue: 0)
        guard
            let icon = gtk_icon_theme_lookup_icon(theme, name, nil, Int32(clamping: pixelSize), scale, direction, flags)
        else {
            return nil
        }
        found = (GObjectBox(adopting: UnsafeMutableRawPointer(icon)), scale, direction)
        return icon
    }
}
