internal import CWebImageGtk4
import FoundationEssentials

/// The styles that the theme does not provide.
enum Style {
    @MainActor
    static func load() {
        guard let display = gdk_display_get_default() else { return }
        let provider = gtk_css_provider_new()!
        // A chequered background makes transparency visible.
        let css = """
            .chequered {
                background-color: #ffffff;
                background-image: conic-gradient(#c0c0c0 25%, #ffffff 25% 50%, #c0c0c0 50% 75%, #ffffff 75%);
                background-size: 20px 20px;
            }
            """
        gtk_css_provider_load_from_data(provider, css, -1)
        gtk_style_context_add_provider_for_display(
            display,
            OpaquePointer(provider),
            guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION)
        )
        g_object_unref(UnsafeMutableRawPointer(provider))
        // Until the app is installed, its icons are next to the images in the source tree.
        let icons = URL(filePath: ImageServer.standardFolder).deletingLastPathComponent().appending(path: "icons")
        gtk_icon_theme_add_search_path(gtk_icon_theme_get_for_display(display), icons.path())
    }
}
