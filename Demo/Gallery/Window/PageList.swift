internal import CWebImageGtk4
import FoundationEssentials

/// The searchable list of pages.
@MainActor
final class PageList {
    let widget: Widget
    var onSelect: ((Page) -> Void)?
    private let list: OpaquePointer
    private let search: OpaquePointer
    private var shown: [Page] = []
    private var current: String?
    private var isFilling = false

    init() {
        list = OpaquePointer(gtk_list_box_new())
        search = OpaquePointer(gtk_search_entry_new())
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), cast(list))
        gtk_widget_set_vexpand(scrolled, 1)
        gtk_widget_add_css_class(cast(list), "navigation-sidebar")
        let entry: Widget = cast(search)
        for side in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start] {
            side(entry, 6)
        }
        gtk_widget_set_margin_end(entry, 6)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [entry, scrolled])
        gtk_widget_set_size_request(widget, 220, -1)
        fill("")
        connect(search, "search-changed") { [weak self] in
            guard let self else { return }
            fill(String(cString: gtk_editable_get_text(search)))
        }
        // Enter opens the first match.
        connect(search, "activate") { [weak self] in
            guard let self else { return }
            // search-changed is delayed, so the last letters may not have arrived.
            fill(String(cString: gtk_editable_get_text(search)))
            guard let first = shown.first else { return }
            gtk_editable_set_text(search, "")
            fill("")
            select(first.id)
        }
        connect(list, "row-selected", arguments: 1) { [weak self] in self?.selected() }
    }

    func focusSearch() {
        gtk_widget_grab_focus(cast(search))
    }

    /// Selects a page.
    /// - Returns: Whether the page exists.
    @discardableResult
    func select(_ id: String) -> Bool {
        if !shown.contains(where: { $0.id == id }) { gtk_editable_set_text(search, "") }
        if !shown.contains(where: { $0.id == id }) { fill("") }
        guard let index = shown.firstIndex(where: { $0.id == id }) else { return false }
        let row = gtk_list_box_get_row_at_index(list, Int32(index))
        gtk_list_box_select_row(list, row)
        if let row { gtk_widget_grab_focus(cast(OpaquePointer(row))) }
        return true
    }

    /// Selects the page a number of places further down.
    func step(_ count: Int) {
        guard let row = gtk_list_box_get_selected_row(list) else { return }
        let index = Int(gtk_list_box_row_get_index(row)) + count
        guard shown.indices.contains(index) else { return }
        select(shown[index].id)
    }

    private func fill(_ text: String) {
        isFilling = true
        defer { isFilling = false }
        while let row = gtk_list_box_get_row_at_index(list, 0) {
            gtk_list_box_remove(list, cast(OpaquePointer(row)))
        }
        shown = Page.all.filter { $0.matches(text) }
        for page in shown {
            let title = label(page.title)
            gtk_label_set_ellipsize(OpaquePointer(title), PANGO_ELLIPSIZE_END)
            gtk_list_box_append(list, title)
        }
        // The visible page stays selected.
        guard let index = shown.firstIndex(where: { $0.id == current }) else { return }
        gtk_list_box_select_row(list, gtk_list_box_get_row_at_index(list, Int32(index)))
    }

    private func selected() {
        guard !isFilling, let row = gtk_list_box_get_selected_row(list) else { return }
        let page = shown[Int(gtk_list_box_row_get_index(row))]
        current = page.id
        onSelect?(page)
    }
}
