internal import CWebImageGtk4

/// The result of a fling as a list, with a button that copies it.
@MainActor
struct FlingCard {
    let widget: Widget
    private let copyButton: Widget

    /// - Parameters:
    ///   - again: Starts the next fling.
    ///   - close: Goes back to the wall.
    init(_ result: FlingResult, again: @escaping () -> Void, close: @escaping () -> Void) {
        let text = result.text
        let copy = gtk_button_new_with_label(tr("Copy"))!
        gtk_widget_add_css_class(copy, "suggested-action")
        connect(OpaquePointer(copy), "clicked") {
            gdk_clipboard_set_text(gtk_widget_get_clipboard(copy), text)
            showToast(tr("The result is in the clipboard"), in: copy)
        }
        copyButton = copy
        let buttons = controls([copy, button(tr("Run again"), again), button(tr("Back to the wall"), close)])
        let heading = label(result.title, "title-2")
        let column = box(GTK_ORIENTATION_VERTICAL, spacing: 18, [heading, buttons, boxedList(result.rows)])
        for side in [
            gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
            gtk_widget_set_margin_end,
        ] { side(column, 12) }
        widget = clamped(column, width: 560)
    }

    func grabFocus() { gtk_widget_grab_focus(copyButton) }
}
