internal import CWebImageGtk4

/// An icon of the icon theme, looked up when it is drawn first.
@MainActor
final class PlaceholderIcon {
    let name: String
    /// In application pixels.
    let pixelSize: Int
    private var found: (paintable: UInt, owned: GObjectReference, scale: Int32)?

    init(_ name: String, pixelSize: Int) {
        self.name = name
        self.pixelSize = pixelSize
    }

    deinit {
        found?.owned.releaseOnMainThread()
    }

    /// Draws a square; a symbolic icon in the widget's colour of text.
    func draw(_ snapshot: OpaquePointer, side: Double, for widget: UnsafeMutablePointer<GtkWidget>?) {
        guard let paintable = paintable(for: widget) else { return }
        var colors: [GdkRGBA] = []
        if let widget {
            let color = widget.textColor
            // Foreground, error, warning, success (GtkSymbolicColor): a placeholder has one colour.
            colors = [color, color, color, color]
        }
        gtk_symbolic_paintable_snapshot_symbolic(paintable, snapshot, side, side, colors, gsize(colors.count))
    }

    /// - Returns: nil when there is no display.
    private func paintable(for widget: UnsafeMutablePointer<GtkWidget>?) -> OpaquePointer? {
        let scale = widget.map { gtk_widget_get_scale_factor($0) } ?? 1
        if let found, found.scale == scale { return OpaquePointer(bitPattern: found.paintable) }
        guard let display = gdk_display_get_default() else { return nil }
        let theme = gtk_icon_theme_get_for_display(display)
        let flags = GtkIconLookupFlags(rawValue: 0)
        let direction = GTK_TEXT_DIR_NONE
        guard let icon = gtk_icon_theme_lookup_icon(theme, name, nil, Int32(pixelSize), scale, direction, flags) else {
            return nil
        }
        found?.owned.release()
        found = (UInt(bitPattern: icon), GObjectReference(icon), scale)
        return icon
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The colour of text in the widget.
    var textColor: GdkRGBA {
        var color = GdkRGBA()
        gtk_style_context_get_color(gtk_widget_get_style_context(self), &color)
        return color
    }
}
