internal import CWebImageAdwaita
internal import CWebImageGtk4
import GtkWebImage

/// The primary menu of the window.
enum PrimaryMenu {
    /// - Returns: A new reference, which belongs to the caller.
    @MainActor
    static func make() -> UnsafeMutablePointer<GMenuModel> {
        let menu = g_menu_new()!
        g_menu_append(menu, tr("Reload"), "win.reload")
        g_menu_append(menu, tr("Source"), "win.source")
        g_menu_append(menu, tr("Inspector"), "win.inspector")
        g_menu_append(menu, tr("Dark Style"), "app.dark")
        g_menu_append(menu, tr("Full Screen"), "win.fullscreen")
        let help = g_menu_new()!
        g_menu_append(help, tr("Keyboard Shortcuts"), "win.show-help-overlay")
        g_menu_append(help, tr("About the Gallery"), "app.about")
        g_menu_append_section(menu, nil, cast(help))
        g_object_unref(UnsafeMutableRawPointer(help))
        return cast(menu)
    }
}

/// The About window.
enum AboutWindow {
    @MainActor
    static func present(over window: Widget) {
        let about = adw_about_window_new()!
        let native = OpaquePointer(about)
        adw_about_window_set_application_name(native, tr("GtkWebImage Gallery"))
        adw_about_window_set_application_icon(native, AppInfo.identifier)
        adw_about_window_set_version(native, LibraryVersion.current)
        adw_about_window_set_developer_name(native, tr("The authors of GtkWebImage"))
        adw_about_window_set_comments(
            native,
            tr("Demonstrates GtkWebImage, which loads images by URL into GTK 4 widgets.")
        )
        adw_about_window_set_website(native, AppInfo.homepage)
        adw_about_window_set_issue_url(native, AppInfo.issues)
        adw_about_window_set_license_type(native, GTK_LICENSE_MIT_X11)
        gtk_window_set_transient_for(cast(OpaquePointer(about)), cast(OpaquePointer(window)))
        gtk_window_set_modal(cast(OpaquePointer(about)), 1)
        gtk_window_present(cast(OpaquePointer(about)))
    }
}
