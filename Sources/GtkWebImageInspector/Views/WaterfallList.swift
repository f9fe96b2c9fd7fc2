internal import CWebImageGtk4
import WebImageLinux

/// The list of loads, the newest first. GTK makes rows as they scroll into view.
@MainActor
final class WaterfallList {
    let widget: Widget
    /// Called with the number of a line that the user opens.
    var onOpen: (Int) -> Void = { _ in }

    private let list: Widget
    private let model: OpaquePointer
    private let selection: OpaquePointer
    private var lines: ArraySlice<LoadLine> = []
    private var axes: [Int: StageBar.Axis] = [:]
    /// The visible rows by the address of their GtkListItem.
    private var rows: [UInt: WaterfallRow] = [:]
    private let empty: Widget
    private let stack: Widget

    init() {
        model = gtk_string_list_new(nil)
        selection = gtk_single_selection_new(model)
        gtk_single_selection_set_autoselect(selection, 0)
        gtk_single_selection_set_can_unselect(selection, 1)
        let factory = gtk_signal_list_item_factory_new()!
        list = gtk_list_view_new(selection, factory)
        gtk_list_view_set_single_click_activate(list.native, 1)
        list.setAccessibleLabel("Requests")
        leaveByTab(list)
        empty = wrappingLabel("No requests yet. Those that begin while the inspector is open are listed here.", "faint")
        gtk_label_set_justify(empty.native, GTK_JUSTIFY_CENTER)
        gtk_label_set_xalign(empty.native, 0.5)
        empty.setMargins(24)
        stack = gtk_stack_new()
        widget = stack
        gtk_stack_add_named(stack.native, empty, "empty")
        gtk_stack_add_named(stack.native, scrolled(list), "list")
        let signals = UnsafeMutableRawPointer(factory)
        signals.connectWithArgument("setup") { [weak self] in self?.setUp($0) }
        signals.connectWithArgument("bind") { [weak self] in self?.bind($0) }
        signals.connectWithArgument("teardown") { [weak self] in self?.rows[$0] = nil }
        list.raw.connectWithArgument("activate") { [weak self] position in
            guard let self, let line = line(at: Int(UInt32(truncatingIfNeeded: position))) else { return }
            onOpen(line.id)
        }
    }

    var count: Int { Int(g_list_model_get_n_items(model)) }

    /// Shows lines, the oldest first, with consecutive numbers.
    func setLines(_ new: [LoadLine]) {
        let old = lines
        lines = new[...]
        axes = StageBar.axes(of: new, now: .now)
        let first = new.first?.id ?? Int.max
        let removed = old.prefix { $0.id < first }.count
        let added = new.reversed().prefix { line in old.last.map { line.id > $0.id } ?? true }
        let isAtTop = gtk_adjustment_get_value(gtk_scrollable_get_vadjustment(list.native)) < 1
        // The model has the newest line first.
        if removed > 0 { splice(at: count - removed, removing: removed, adding: []) }
        if !added.isEmpty { splice(at: 0, removing: 0, adding: added.map { "\($0.id)" }) }
        // GTK keeps the scroll position of visible rows when rows are added above.
        if isAtTop, !added.isEmpty { scroll(to: 0) }
        for (address, row) in rows { show(row, OpaquePointer(bitPattern: address)!) }
        gtk_stack_set_visible_child_name(stack.native, new.isEmpty ? "empty" : "list")
    }

    /// The line with a number, unless it was removed.
    func line(_ id: Int) -> LoadLine? {
        guard let first = lines.first?.id, id >= first, id - first < lines.count else { return nil }
        return lines[lines.startIndex + id - first]
    }

    /// Selects a line and scrolls to it.
    func select(_ id: Int) {
        guard let last = lines.last?.id, line(id) != nil else { return }
        let position = UInt32(last - id)
        gtk_single_selection_set_selected(selection, position)
        scroll(to: position)
    }

    func focus() {
        gtk_widget_grab_focus(list)
    }

    private func scroll(to position: UInt32) {
        gtk_widget_activate_action_variant(list, "list.scroll-to-item", g_variant_new_uint32(position))
    }

    private func line(at position: Int) -> LoadLine? {
        position < lines.count ? lines[lines.endIndex - 1 - position] : nil
    }

    private func splice(at position: Int, removing count: Int, adding texts: [String]) {
        var strings: [UnsafePointer<CChar>?] = texts.map { UnsafePointer(strdup($0)) } + [nil]
        gtk_string_list_splice(model, guint(position), guint(count), &strings)
        for string in strings { free(UnsafeMutableRawPointer(mutating: string)) }
    }

    private func setUp(_ address: UInt) {
        let row = WaterfallRow()
        rows[address] = row
        gtk_list_item_set_child(OpaquePointer(bitPattern: address), row.widget)
    }

    private func bind(_ address: UInt) {
        guard let row = rows[address], let item = OpaquePointer(bitPattern: address) else { return }
        show(row, item)
    }

    private func show(_ row: WaterfallRow, _ item: OpaquePointer) {
        let position = gtk_list_item_get_position(item)
        guard position != GTK_INVALID_LIST_POSITION, let line = line(at: Int(position)) else { return }
        row.show(line, on: axes[line.id], of: item)
    }
}
