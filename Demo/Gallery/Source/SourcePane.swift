internal import CWebImageGtk4
import Foundation

/// The source of the open page, with the lines marked that use the library.
@MainActor
final class SourcePane {
    /// Owned, since the pane beside the page lets go of it whenever something else is shown there.
    private let owned: OwnedWidget
    private let code = CodeLabel(wraps: false)
    private let title = label("", "heading")

    init() {
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), code.widget)
        setMargins(of: code.widget, 12)
        gtk_widget_set_vexpand(scrolled, 1)
        gtk_widget_set_hexpand(title, 1)
        gtk_label_set_wrap(OpaquePointer(title), 0)
        gtk_label_set_ellipsize(OpaquePointer(title), PANGO_ELLIPSIZE_END)
        let bar = box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [title])
        setMargins(of: bar, 6)
        gtk_widget_set_margin_start(bar, 12)
        owned = OwnedWidget(box(GTK_ORIENTATION_VERTICAL, spacing: 0, [bar, scrolled]))
        gtk_widget_set_hexpand(widget, 0)
        gtk_widget_set_size_request(widget, 300, -1)
        let copy = button(icon: "edit-copy-symbolic", tr("Copy the source")) { [weak self] in
            guard let self else { return }
            copyText(text, from: widget, saying: tr("The source is in the clipboard"))
        }
        gtk_widget_add_css_class(copy, "flat")
        append(copy, to: bar)
    }

    var widget: Widget { owned.widget }

    /// What is shown.
    var text: String { code.code }

    /// Shows the files of a page, as they were compiled.
    func show(_ page: Page) {
        let folder = URL(filePath: ProgramFolder.own("pages", source: "Demo/Gallery/Pages"))
        let files = page.files.compactMap { try? String(contentsOf: folder.appending(path: $0), encoding: .utf8) }
        setText(title, page.files.first ?? page.title)
        code.show((files.isEmpty ? page.uses : files).joined(separator: "\n"), marked: page.uses)
    }
}
