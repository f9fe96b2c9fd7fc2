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
        .webimage-inspector .card-box {
          background: alpha(currentColor, 0.05);
          border-radius: 12px;
        }
        .webimage-inspector listview { background: transparent; }
        .webimage-inspector listview > row { padding: 6px 12px; border-radius: 8px; }
        .webimage-inspector .small { font-size: smaller; }
        .webimage-inspector .figures { font-feature-settings: "tnum"; }
        .webimage-inspector .faint { opacity: 0.7; }
        .webimage-inspector .failure { font-weight: bold; }
        .webimage-inspector .separated { border-top: 1px solid alpha(currentColor, 0.12); }
        """
}
