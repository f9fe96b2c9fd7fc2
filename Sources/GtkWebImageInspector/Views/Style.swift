internal import CWebImageGtk4

/// The CSS of the inspector's widgets. Colors derive from the text color, so they suit every theme.
@MainActor
enum Style {
    private static var isLoaded = false

    /// Adds the CSS to the display, once.
    static func load() {
        guard !isLoaded, let display = gdk_display_get_default() else { return }
        isLoaded = true
        let provider = gtk_css_provider_new()!
        gwi_css_provider_load(provider, rules)
        gtk_style_context_add_provider_for_display(display, OpaquePointer(provider), 600)
    }

    private static let rules = """
        .webimage-inspector { padding: 12px; }
        .webimage-inspector .card-box { background: alpha(currentColor, 0.05); border-radius: 12px; }
        .webimage-inspector listview { background: transparent; }
        .webimage-inspector listview > row { padding: 6px 12px; border-radius: 8px; }
        .webimage-inspector .small { font-size: smaller; }
        .webimage-inspector .figures { font-feature-settings: "tnum"; }
        .webimage-inspector .faint { opacity: 0.7; }
        .webimage-inspector .failure { color: mix(currentColor, #e01b24, 0.75); font-weight: bold; }
        .webimage-inspector .warning { color: mix(currentColor, #e66100, 0.75); font-weight: bold; }
        .webimage-inspector .problem:not(.failure):not(.warning) { font-weight: normal; color: alpha(currentColor, 0.7); }
        .webimage-inspector .problem { padding: 0 10px; min-height: 26px; border-radius: 13px; font-size: smaller; }
        .webimage-inspector .failure.faint { opacity: 1; }
        .webimage-inspector .activity { padding: 12px; }
        .webimage-inspector .no-requests { padding: 24px; }
        .webimage-inspector .fact { padding: 6px 12px; }
        .webimage-inspector .separated { border-top: 1px solid alpha(currentColor, 0.12); }
        """
}
