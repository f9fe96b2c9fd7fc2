internal import CWebImageAdwaita
internal import CWebImageGtk4
import FoundationEssentials

/// The sidebar: the pages in their groups, and a search for them. A page is opened by a click or Enter, not by the focus.
@MainActor
final class Sidebar {
    let widget: Widget
    /// Called when the user opens a page, also the one that is open already.
    var onOpen: ((Page) -> Void)?
    /// Called when Tab leaves the list, with whether it goes forward.
    var onLeave: ((Bool) -> Void)?
    private let header = adw_header_bar_new()!
    private let searchBar = OpaquePointer(gtk_search_bar_new()!)
    private let search = OpaquePointer(gtk_search_entry_new()!)
    private let list = OpaquePointer(gtk_list_box_new()!)
    private let views = OpaquePointer(gtk_stack_new()!)
    private var shown: [PageGroup.Entry] = []
    /// The titles of the groups, by the index of their first row.
    private var headings: [Int: String] = [:]
    private var current: String?
    /// The text that the list is filtered by.
    private var filtered = ""

    init() {
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [header, cast(searchBar), cast(views)])
        gtk_widget_set_size_request(widget, 250, -1)
        // The search entry, which fills the sidebar, would make the sidebar grow.
        gtk_widget_set_hexpand(widget, 0)
        makeHeader()
        makeSearch()
        makeViews()
        fill("")
        connect(list, "row-activated") { [weak self] (row: OpaquePointer) in
            guard let self else { return }
            open(at: Int(gtk_list_box_row_get_index(cast(row))))
        }
        // GTK selects the row that gets the focus by Tab, or as its neighbour loses it. The selected row is the open page here.
        connect(list, "row-selected") { [weak self] in self?.selectCurrentRow() }
        onKey(in: cast(list)) { [weak self] in self?.handle($0) ?? false }
    }

    /// Whether the header shows the buttons of the window at its end, which a narrow window has no other place for.
    var showsWindowButtons = false {
        didSet { adw_header_bar_set_show_end_title_buttons(OpaquePointer(header), showsWindowButtons ? 1 : 0) }
    }

    /// Opens the search, with its text selected.
    func startSearch() {
        gtk_search_bar_set_search_mode(searchBar, 1)
        gtk_widget_grab_focus(cast(search))
        gtk_editable_select_region(search, 0, -1)
    }

    /// Closes the search, and moves the focus to the list.
    /// - Returns: Whether the search was open.
    @discardableResult
    func endSearch() -> Bool {
        guard gtk_search_bar_get_search_mode(searchBar) != 0 else { return false }
        gtk_search_bar_set_search_mode(searchBar, 0)
        gtk_editable_set_text(search, "")
        fill("")
        focusCurrentRow()
        return true
    }

    /// Opens a page.
    /// - Returns: Whether the page exists.
    @discardableResult
    func open(_ id: String) -> Bool {
        if !shown.contains(where: { $0.page.id == id }) { endSearch() }
        guard let index = shown.firstIndex(where: { $0.page.id == id }) else { return false }
        open(at: index)
        focusCurrentRow()
        return true
    }

    /// Opens the page a number of places further down among all pages.
    func step(_ count: Int) {
        let pages = Page.all
        guard let index = pages.firstIndex(where: { $0.id == current }), pages.indices.contains(index + count) else {
            return
        }
        open(pages[index + count].id)
    }

    /// Moves the focus to the first control, or to the last.
    func focus(first: Bool) {
        gtk_widget_child_focus(first ? header : cast(list), first ? GTK_DIR_TAB_FORWARD : GTK_DIR_TAB_BACKWARD)
    }

    func focusCurrentRow() {
        guard let row = currentRow else { return }
        gtk_widget_grab_focus(cast(OpaquePointer(row)))
    }

    private func open(at index: Int) {
        current = shown[index].page.id
        selectCurrentRow()
        onOpen?(shown[index].page)
    }

    // Widgets

    private func makeHeader() {
        let button = gtk_toggle_button_new()!
        gtk_button_set_icon_name(cast(OpaquePointer(button)), "edit-find-symbolic")
        nameIcon(button, tr("Search"))
        adw_header_bar_pack_start(OpaquePointer(header), button)
        adw_header_bar_set_title_widget(OpaquePointer(header), adw_window_title_new(tr("Gallery"), nil))
        showsWindowButtons = false
        let (mode, active) = (UnsafeMutableRawPointer(searchBar), UnsafeMutableRawPointer(button))
        g_object_bind_property(mode, "search-mode-enabled", active, "active", gwi_binding_bidirectional)
    }

    private func makeSearch() {
        gtk_search_bar_set_child(searchBar, cast(search))
        gtk_search_bar_connect_entry(searchBar, search)
        gtk_widget_set_hexpand(cast(search), 1)
        setName(cast(search), tr("Search the pages"))
        connect(search, "search-changed") { [weak self] in self?.filter() }
        // GTK drops the Enter and the space of an entry that is not on screen, as one that slides in before the next frame.
        if let revealer = gtk_widget_get_first_child(cast(searchBar)),
            g_type_check_instance_is_a(cast(OpaquePointer(revealer)), gtk_revealer_get_type()) != 0
        {
            gtk_revealer_set_transition_duration(OpaquePointer(revealer), 0)
        }
        connect(search, "activate") { [weak self] in self?.openMatch() }
        onKey(in: cast(search)) { [weak self] press in
            guard let self, press.key == GDK_KEY_Down else { return false }
            filter()
            focusRow(0)
            return true
        }
    }

    private func makeViews() {
        let scrolled = gtk_scrolled_window_new()!
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), cast(list))
        gtk_widget_set_vexpand(scrolled, 1)
        // A bar shows that there are more rows when a low window cuts them off.
        gtk_scrolled_window_set_overlay_scrolling(OpaquePointer(scrolled), 0)
        gtk_widget_add_css_class(cast(list), "navigation-sidebar")
        gtk_widget_add_css_class(cast(list), "pages")
        setName(cast(list), tr("Pages"))
        gtk_list_box_set_header_func(
            list,
            { row, _, sidebar in
                let index = Int(gtk_list_box_row_get_index(row))
                let row = UInt(bitPattern: row)
                let sidebar = Unmanaged<Sidebar>.fromOpaque(sidebar!).takeUnretainedValue()
                MainActor.assumeIsolated { sidebar.setHeading(of: OpaquePointer(bitPattern: row)!, at: index) }
            },
            Unmanaged.passUnretained(self).toOpaque(),
            nil
        )
        let nothing = adw_status_page_new()!
        adw_status_page_set_icon_name(OpaquePointer(nothing), "edit-find-symbolic")
        adw_status_page_set_title(OpaquePointer(nothing), tr("No Results"))
        adw_status_page_set_description(OpaquePointer(nothing), tr("No page has all of these words."))
        gtk_widget_add_css_class(nothing, "compact")
        gtk_stack_add_named(views, scrolled, "list")
        gtk_stack_add_named(views, nothing, "nothing")
    }

    /// Opens the first page that has the text in its title, or else the first one that is listed.
    private func openMatch() {
        // search-changed is delayed, so the last letters may not have arrived.
        filter()
        let pages = shown.map(\.page)
        guard !filtered.allSatisfy(\.isWhitespace),
            let match = pages.first(where: { $0.isNamed(filtered) }) ?? pages.first
        else { return }
        endSearch()
        open(match.id)
    }

    private func filter() {
        let text = String(cString: gtk_editable_get_text(search))
        // search-changed comes late, when the focus may be on a row that must not go.
        if text != filtered { fill(text) }
    }

    private func fill(_ text: String) {
        filtered = text
        while let row = gtk_list_box_get_row_at_index(list, 0) {
            gtk_list_box_remove(list, cast(OpaquePointer(row)))
        }
        shown = []
        headings = [:]
        for group in PageGroup.all {
            let entries = group.entries.filter { $0.page.matches(text) }
            headings[shown.count] = entries.isEmpty ? nil : group.title
            for entry in entries { gtk_list_box_append(list, Self.row(entry)) }
            shown += entries
        }
        gtk_list_box_invalidate_headers(list)
        gtk_stack_set_visible_child_name(views, shown.isEmpty ? "nothing" : "list")
        selectCurrentRow()
    }

    /// The row of the open page.
    private var currentRow: UnsafeMutablePointer<GtkListBoxRow>? {
        shown.firstIndex { $0.page.id == current }.flatMap { gtk_list_box_get_row_at_index(list, Int32($0)) }
    }

    private func selectCurrentRow() {
        guard gtk_list_box_get_selected_row(list) != currentRow else { return }
        gtk_list_box_select_row(list, currentRow)
    }

    private func setHeading(of row: OpaquePointer, at index: Int) {
        guard let title = headings[index] else { return gtk_list_box_row_set_header(cast(row), nil) }
        let heading = label(title, "heading")
        gtk_widget_set_margin_top(heading, index == 0 ? 0 : 12)
        gtk_widget_set_margin_bottom(heading, 3)
        gtk_widget_set_margin_start(heading, 12)
        gtk_list_box_row_set_header(cast(row), heading)
    }

    private static func row(_ entry: PageGroup.Entry) -> Widget {
        let title = label(entry.page.title)
        gtk_label_set_wrap(OpaquePointer(title), 0)
        gtk_label_set_ellipsize(OpaquePointer(title), PANGO_ELLIPSIZE_END)
        let icon = gtk_image_new_from_icon_name("\(entry.icon)-symbolic")!
        let row = gtk_list_box_row_new()!
        let content = box(GTK_ORIENTATION_HORIZONTAL, spacing: 12, [icon, title])
        gtk_list_box_row_set_child(cast(OpaquePointer(row)), content)
        // GTK 4.8 takes no name from the content of a row.
        setName(row, entry.page.title)
        return row
    }

    // Keys

    /// The arrows move the focus alone, while GtkListBox would select the row, too. Tab leaves the list, while GtkListBox would
    /// go through all rows.
    private func handle(_ press: KeyPress) -> Bool {
        guard press.modifiers.rawValue & (GDK_CONTROL_MASK.rawValue | GDK_ALT_MASK.rawValue) == 0 else { return false }
        let focused = shown.indices.first { index in
            gtk_list_box_get_row_at_index(list, Int32(index)).map { gtk_widget_has_focus(cast(OpaquePointer($0))) } != 0
        }
        switch press.key {
        case GDK_KEY_Tab where press.modifiers.rawValue & GDK_SHIFT_MASK.rawValue == 0: onLeave?(true)
        case GDK_KEY_Tab, GDK_KEY_ISO_Left_Tab: leaveBackward()
        case GDK_KEY_Up, GDK_KEY_KP_Up: focusRow((focused ?? 0) - 1)
        case GDK_KEY_Down, GDK_KEY_KP_Down: focusRow((focused ?? 0) + 1)
        case GDK_KEY_Home, GDK_KEY_KP_Home: focusRow(0)
        case GDK_KEY_End, GDK_KEY_KP_End: focusRow(shown.count - 1)
        default: return false
        }
        return true
    }

    private func leaveBackward() {
        for place in [cast(searchBar), header] where gtk_widget_get_visible(place) != 0 {
            if gtk_widget_child_focus(place, GTK_DIR_TAB_BACKWARD) != 0 { return }
        }
        onLeave?(false)
    }

    private func focusRow(_ index: Int) {
        guard shown.indices.contains(index), let row = gtk_list_box_get_row_at_index(list, Int32(index)) else { return }
        gtk_widget_grab_focus(cast(OpaquePointer(row)))
    }
}
