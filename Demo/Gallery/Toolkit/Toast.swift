internal import CWebImageAdwaita
internal import CWebImageGtk4

/// Puts a text into the clipboard.
/// - Parameter saying: What the user is told.
@MainActor
func copyText(_ text: String, from widget: Widget, saying: String) {
    gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), text)
    showToast(saying, in: widget)
}

/// Tells of something that has been done, in the window of a widget, for some seconds.
@MainActor
func showToast(_ text: String, in widget: Widget) {
    guard let overlay = gtk_widget_get_ancestor(widget, adw_toast_overlay_get_type()) else { return }
    adw_toast_overlay_add_toast(OpaquePointer(overlay), adw_toast_new(text))
}
