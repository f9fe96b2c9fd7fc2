internal import CWebImageGtk4
import FoundationEssentials
import WebImageLinux

/// Shows all known facts about one load.
@MainActor
final class DetailsView {
    let widget: Widget
    /// Called when the user returns to the list.
    var onBack: () -> Void = {}
    /// Called to flash the image in the window.
    var onFlash: () -> Void = {}

    private let back = button(icon: "go-previous-symbolic", "Back to the requests")
    private let title = shortened(label("", "heading"))
    private let notice = wrapping(label("No widget on screen shows this URL now.", "small", "faint"))
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
        let flash = button("Flash", tooltip: "Show where the image is in the window")
        let copy = button("Copy", tooltip: "Copy all of this as text")
        back.raw.connect("clicked") { [weak self] in self?.onBack() }
        flash.raw.connect("clicked") { [weak self] in self?.onFlash() }
        copy.raw.connect("clicked") { [weak self] in
            guard let self, let details else { return }
            gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), details.text)
        }
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
        let text = wrapping(label(value.text, "figures"))
        if value.isMonospaced { gtk_widget_add_css_class(text, "monospace") }
        let row = box(GTK_ORIENTATION_VERTICAL, spacing: 2, [name, text])
        gtk_widget_add_css_class(row, "fact")
        if number > 0 { gtk_widget_add_css_class(row, "separated") }
        return row
    }
}
