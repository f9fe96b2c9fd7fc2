internal import CWebImageAdwaita
internal import CWebImageGtk4
import FoundationEssentials

/// The light or dark style. It follows the desktop until the user chooses one.
@MainActor
final class ColorScheme {
    private let action = ToggleAction("dark")
    private var manager: OpaquePointer { adw_style_manager_get_default() }

    /// Adds the action that switches between the styles.
    /// - Parameter isDark: Whether the dark style is chosen from the start.
    func addAction(to map: OpaquePointer, isDark: Bool) {
        action.add(to: map) { [weak self] in
            guard let self else { return }
            let scheme = self.isDark ? ADW_COLOR_SCHEME_FORCE_LIGHT : ADW_COLOR_SCHEME_FORCE_DARK
            adw_style_manager_set_color_scheme(manager, scheme)
        }
        connect(manager, "notify::dark") { [weak self] in self?.updateAction() }
        if isDark { adw_style_manager_set_color_scheme(manager, ADW_COLOR_SCHEME_FORCE_DARK) }
        updateAction()
    }

    private var isDark: Bool { adw_style_manager_get_dark(manager) != 0 }

    private func updateAction() { action.isOn = isDark }
}

/// The styles that the theme does not provide.
enum Style {
    @MainActor
    static func load() {
        guard let display = gdk_display_get_default() else { return }
        let provider = gtk_css_provider_new()!
        // A chequered background makes transparency visible.
        let css = """
            /* An image that is not there yet, or never comes, has a visible place. */
            .image-place { background-color: alpha(currentColor, 0.06); }
            .chequered {
                background-color: #ffffff;
                background-image: conic-gradient(#c0c0c0 25%, #ffffff 25% 50%, #c0c0c0 50% 75%, #ffffff 75%);
                background-size: 20px 20px;
            }
            /* What is drawn over an image, whatever its colours */
            .on-image {
                color: #ffffff;
                text-shadow: 0 0 3px rgba(0, 0, 0, 0.9), 0 1px 6px rgba(0, 0, 0, 0.9);
            }
            .thick block { min-height: 12px; }
            .tunnel {
                background-image: repeating-linear-gradient(
                    -45deg, alpha(currentColor, 0.2), alpha(currentColor, 0.2) 5px, transparent 5px, transparent 10px
                );
            }
            /* All pages fit into a window of the usual height. */
            .pages > row {
                min-height: 27px;
            }
            """
        gwi_css_provider_load(provider, css)
        gtk_style_context_add_provider_for_display(
            display,
            OpaquePointer(provider),
            guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION)
        )
        g_object_unref(UnsafeMutableRawPointer(provider))
        // GTK finds the icons of an installed app only below the folders of the desktop, and those of a build nowhere.
        let icons = ProgramFolder.share("icons") ?? ProgramFolder.own("icons", source: "data/icons")
        gtk_icon_theme_add_search_path(gtk_icon_theme_get_for_display(display), icons)
    }
}
