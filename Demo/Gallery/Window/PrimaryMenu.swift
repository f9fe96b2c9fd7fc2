internal import CWebImageGtk4

/// The primary menu of the window.
enum PrimaryMenu {
    @MainActor
    static func make() -> UnsafeMutablePointer<GMenuModel> {
        let menu = g_menu_new()!
        g_menu_append(menu, tr("Reload"), "win.reload")
        g_menu_append(menu, tr("Dark Style"), "app.dark")
        let help = g_menu_new()!
        g_menu_append(help, tr("Keyboard Shortcuts"), "win.show-help-overlay")
        g_menu_append(help, tr("About the Gallery"), "app.about")
        g_menu_append_section(menu, nil, cast(help))
        return cast(menu)
    }
}
