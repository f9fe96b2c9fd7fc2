internal import CWebImageGtk4
import FoundationEssentials
import WebImageLinux

/// Shows all known facts about one load.
@MainActor
final class DetailsView {
    let widget: Widget
    /// Called when the user returns to the list.
    var onBack: () -> Void = {}
    /// Called to flash the image in the window. Returns whether it is on screen.
    var onFlash: () -> Bool = { false }

    private let back: Widget
    private let title = shortLabel("", "heading")
    private let notice = wrappingLabel("", "small", "faint")
    private let content = box(GTK_ORIENTATION_VERTICAL, spacing: 12)
    private var details: LoadDetails?

    init() {
        let header = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [header])
        let scrolled = scrolled(content)
        // The margin leaves space for the scrollbar.
        gtk_widget_set_margin_end(content, 12)
        gtk_widget_set_hexpand(title, 1)
        gtk_widget_set_visible(notice, 0)
        gtk_box_append(widget.cast(to: GtkBox.self), notice)
        gtk_box_append(widget.cast(to: GtkBox.self), scrolled)
        back = button(icon: "go-previous-symbolic", "Back to the requests")
        let flash = button("Flash", tooltip: "Show where the image is in the window") { [weak self] in self?.flash() }
        let copy = button("Copy", tooltip: "Copy all of this as text") { [weak self] in self?.copy() }
        back.raw.connect("clicked") { [weak self] in self?.onBack() }
        for child in [back, title, flash, copy] { gtk_box_append(header.cast(to: GtkBox.self), child) }
        // A scrolled window is not focusable by default, and keys could not scroll it.
        gtk_widget_set_focusable(scrolled, 1)
        scrolled.setAccessibleLabel("Details")
        onKey(UInt32(GDK_KEY_Escape), in: widget) { [weak self] in
            self?.onBack()
            return self != nil
        }
    }

    /// The displayed text.
    var text: String? { details?.text }

    func focus() {
        gtk_widget_grab_focus(back)
    }

    /// Shows whether the image was found in the window.
    func setFound(_ isFound: Bool) {
        gtk_label_set_text(notice.native, "No widget on screen shows this URL now.")
        gtk_widget_set_visible(notice, isFound ? 0 : 1)
    }

    /// Shows a load, unless it is already displayed.
    func show(_ line: LoadLine, _ details: LoadDetails) {
        guard details != self.details else { return }
        self.details = details
        gtk_label_set_text(title.native, line.title)
        while let child = gtk_widget_get_first_child(content) {
            gtk_box_remove(content.cast(to: GtkBox.self), child)
        }
        for group in details.groups {
            let heading = label(group.title, "heading")
            let card = box(GTK_ORIENTATION_VERTICAL, spacing: 0, group.values.enumerated().map(row))
            gtk_widget_add_css_class(card, "card-box")
            gtk_box_append(content.cast(to: GtkBox.self), box(GTK_ORIENTATION_VERTICAL, spacing: 6, [heading, card]))
        }
    }

    private func row(_ number: Int, _ value: LoadDetails.Value) -> Widget {
        let name = label(value.name, "small", "faint")
        let text = wrappingLabel(value.text, "figures")
        if value.isMonospaced { gtk_widget_add_css_class(text, "monospace") }
        let row = box(GTK_ORIENTATION_VERTICAL, spacing: 2, [name, text])
        for side in [gtk_widget_set_margin_start, gtk_widget_set_margin_end] {
            side(name, 12)
            side(text, 12)
        }
        gtk_widget_set_margin_top(name, 6)
        gtk_widget_set_margin_bottom(text, 6)
        if number > 0 { gtk_widget_add_css_class(row, "separated") }
        return row
    }

    private func flash() {
        setFound(onFlash())
    }

    private func copy() {
        guard let details else { return }
        gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), details.text)
    }
}
