internal import CWebImageGtk4
import GtkWebImage

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

/// The About window.
enum AboutWindow {
    @MainActor
    static func present(over window: Widget) {
        let dialog = gtk_about_dialog_new()!
        let native = OpaquePointer(dialog)
        gtk_about_dialog_set_program_name(native, tr("Gallery"))
        gtk_about_dialog_set_version(native, LibraryVersion.current)
        gtk_about_dialog_set_comments(
            native,
            tr("Demonstrates GtkWebImage, which loads images by URL into GTK 4 widgets.")
        )
        gtk_about_dialog_set_logo_icon_name(native, AppInfo.identifier)
        gtk_about_dialog_set_license_type(native, GTK_LICENSE_MIT_X11)
        gtk_about_dialog_set_copyright(native, tr("The authors of GtkWebImage"))
        gtk_window_set_transient_for(cast(OpaquePointer(dialog)), cast(OpaquePointer(window)))
        gtk_window_set_modal(cast(OpaquePointer(dialog)), 1)
        gtk_window_present(cast(OpaquePointer(dialog)))
    }
}
