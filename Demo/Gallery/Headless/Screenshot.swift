internal import CWebImageGtk4

/// An image of a window as its own renderer draws it.
enum Screenshot {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether there is anything to be seen in this frame.
    @MainActor
    static func isPossible(_ window: Widget) -> Bool {
        guard let node = draw(window) else { return false }
        gsk_render_node_unref(node)
        return true
    }

    @MainActor
    private static func draw(_ window: Widget) -> OpaquePointer? {
        let paintable = gtk_widget_paintable_new(window)!
        defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
        let snapshot = gtk_snapshot_new()!
        let width = Double(gtk_widget_get_width(window))
        let height = Double(gtk_widget_get_height(window))
        // In the pixels of the screen.
        let scale = Float(gtk_widget_get_scale_factor(window))
        gtk_snapshot_scale(snapshot, scale, scale)
        gdk_paintable_snapshot(paintable, snapshot, width, height)
        return gtk_snapshot_free_to_node(snapshot)
    }

    /// Saves what a mapped window shows as PNG.
    @MainActor
    static func save(_ window: UnsafeMutablePointer<GtkWidget>, to file: String) throws {
        guard let node = draw(window) else {
            throw Failure(description: "There is nothing to photograph: the window has not been drawn yet.")
        }
        defer { gsk_render_node_unref(node) }
        let renderer = gtk_native_get_renderer(gtk_widget_get_native(window))
        guard let texture = gsk_renderer_render_texture(renderer, node, nil) else {
            throw Failure(description: "The renderer made no image of the window.")
        }
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        guard gdk_texture_save_to_png(texture, file) != 0 else {
            throw Failure(description: "The screenshot cannot be written to \(file).")
        }
    }
}
