internal import CWebImageGtk4

/// A screenshot of a window, drawn by the renderer of the window.
enum Screenshot {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// Whether the window has any content in this frame.
    @MainActor
    static func isPossible(_ window: Widget) -> Bool {
        guard let node = draw(window) else { return false }
        gsk_render_node_unref(node)
        return true
    }

    /// What a widget shows in this frame.
    /// - Returns: A node that the caller owns; `nil` if the widget has no content.
    @MainActor
    static func draw(_ widget: Widget) -> OpaquePointer? {
        let paintable = gtk_widget_paintable_new(widget)!
        defer { g_object_unref(UnsafeMutableRawPointer(paintable)) }
        let snapshot = gtk_snapshot_new()!
        let width = Double(gtk_widget_get_width(widget))
        let height = Double(gtk_widget_get_height(widget))
        // The screenshot has the resolution of the screen.
        let scale = Float(gtk_widget_get_scale_factor(widget))
        gtk_snapshot_scale(snapshot, scale, scale)
        gdk_paintable_snapshot(paintable, snapshot, width, height)
        return gtk_snapshot_free_to_node(snapshot)
    }

    /// What a mapped widget shows, as a texture that the caller owns.
    @MainActor
    static func texture(of widget: Widget) throws -> OpaquePointer {
        guard let node = draw(widget) else {
            throw Failure(description: "The window has not been drawn yet, so there is nothing to save.")
        }
        defer { gsk_render_node_unref(node) }
        let renderer = gtk_native_get_renderer(gtk_widget_get_native(widget))
        guard let texture = gsk_renderer_render_texture(renderer, node, nil) else {
            throw Failure(description: "The renderer returned no image of the window.")
        }
        return texture
    }

    /// Saves the content of a mapped window as PNG, or as TIFF, which takes less time, where the file is named so.
    @MainActor
    static func save(_ window: Widget, to file: String) throws {
        let texture = try texture(of: window)
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        let save = file.hasSuffix(".tiff") ? gdk_texture_save_to_tiff : gdk_texture_save_to_png
        guard save(texture, file) != 0 else {
            throw Failure(description: "The screenshot cannot be written to \(file). Choose a writable path.")
        }
    }
}
