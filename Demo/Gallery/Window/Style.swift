internal import CWebImageAdwaita
internal import CWebImageGtk4
import FoundationEssentials

/// The light or dark style. It follows the desktop until the user chooses one.
@MainActor
final class ColorScheme {
    private let action = g_simple_action_new_stateful("dark", nil, g_variant_new_boolean(0))!
    private var manager: OpaquePointer { adw_style_manager_get_default() }

    /// Adds the action that switches between the styles.
    /// - Parameter isDark: Whether the dark style is chosen from the start.
    func addAction(to map: OpaquePointer, isDark: Bool) {
        connect(action, "activate", arguments: 1) { [weak self] in
            guard let self else { return }
            let isDark = adw_style_manager_get_dark(manager) != 0
            adw_style_manager_set_color_scheme(
                manager,
                isDark ? ADW_COLOR_SCHEME_FORCE_LIGHT : ADW_COLOR_SCHEME_FORCE_DARK
            )
        }
        connect(manager, "notify::dark", arguments: 1) { [weak self] in self?.updateState() }
        g_action_map_add_action(map, action)
        if isDark { adw_style_manager_set_color_scheme(manager, ADW_COLOR_SCHEME_FORCE_DARK) }
        updateState()
    }

    private func updateState() {
        g_simple_action_set_state(action, g_variant_new_boolean(adw_style_manager_get_dark(manager)))
    }
}

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
        gwi_css_provider_load(provider, css)
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
