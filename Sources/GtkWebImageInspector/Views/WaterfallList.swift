internal import CWebImageGtk4
import WebImageLinux

/// The list of loads with the time axis of its bars. GTK makes rows as they scroll into view.
@MainActor
final class WaterfallList {
    let widget: Widget
    /// Called with the number of a line that the user opens.
    var onOpen: (Int) -> Void = { _ in }

    private let list: Widget
    private let adjustment: UnsafeMutablePointer<GtkAdjustment>
    private let model: OpaquePointer
    private let selection: OpaquePointer
    private let labels = Canvas()
    /// The lines in the order of the list.
    private(set) var lines: [LoadLine] = []
    /// The axis of the lines on screen.
    private(set) var axis = TimeAxis([], now: .now)
    /// The rows by the address of their GtkListItem.
    private var rows: [UInt: WaterfallRow] = [:]

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
        gtk_widget_set_size_request(labels.widget, -1, 18)
        gtk_widget_set_margin_start(labels.widget, 12)
        gtk_widget_set_margin_end(labels.widget, 12)
        let scrolled = scrolled(list)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 0, [labels.widget, scrolled])
        adjustment = gtk_scrolled_window_get_vadjustment(scrolled.native)
        labels.content.draw = { [weak self] in self?.axis.drawLabels($0) }
        for signal in ["value-changed", "changed"] {
            UnsafeMutableRawPointer(adjustment).connect(signal) { [weak self] in self?.showRows() }
        }
        let signals = UnsafeMutableRawPointer(factory)
        signals.connectWithArgument("setup") { [weak self] in self?.setUp($0) }
        signals.connectWithArgument("bind") { [weak self] in self?.showRow($0) }
        signals.connectWithArgument("teardown") { [weak self] in self?.rows[$0] = nil }
        list.raw.connectWithArgument("activate") { [weak self] position in
            guard let self, let line = line(at: UInt32(truncatingIfNeeded: position)) else { return }
            onOpen(line.id)
        }
    }

    /// Shows lines in this order. Lines that stay keep their rows, so that the list keeps its place.
    func setLines(_ new: [LoadLine]) {
        let (old, ids) = (lines.map(\.id), new.map(\.id))
        lines = new
        let isAtTop = gtk_adjustment_get_value(adjustment) < 1
        if old != ids {
            let kept = Set(ids)
            // The oldest lines leave at the end while new ones come at the start.
            let staying = old.count - old.reversed().prefix { !kept.contains($0) }.count
            let start = zip(old[..<staying], ids).prefix { $0 == $1 }.count
            let end = zip(old[start..<staying].reversed(), ids[start...].reversed()).prefix { $0 == $1 }.count
            splice(at: staying, removing: old.count - staying, adding: [])
            splice(at: start, removing: staying - start - end, adding: ids[start..<(ids.count - end)].map { "\($0)" })
            // GTK keeps the scroll position of visible rows when rows are added above.
            if isAtTop { scroll(to: 0) }
        }
        showRows()
    }

    /// Selects a line and scrolls to it.
    func select(_ id: Int) {
        guard let position = lines.firstIndex(where: { $0.id == id }) else { return }
        gtk_single_selection_set_selected(selection, UInt32(position))
        scroll(to: UInt32(position))
    }

    func focus() {
        gtk_widget_grab_focus(list)
    }

    private func scroll(to position: UInt32) {
        gtk_widget_activate_action_variant(list, "list.scroll-to-item", g_variant_new_uint32(position))
    }

    private func line(at position: UInt32) -> LoadLine? {
        position < lines.count ? lines[Int(position)] : nil
    }

    private func splice(at position: Int, removing count: Int, adding texts: [String]) {
        guard count > 0 || !texts.isEmpty else { return }
        var strings: [UnsafePointer<CChar>?] = texts.map { UnsafePointer(strdup($0)) } + [nil]
        gtk_string_list_splice(model, guint(position), guint(count), &strings)
        for string in strings { free(UnsafeMutableRawPointer(mutating: string)) }
    }

    private func setUp(_ address: UInt) {
        let row = WaterfallRow()
        rows[address] = row
        gtk_list_item_set_child(OpaquePointer(bitPattern: address), row.widget)
    }

    /// Shows all rows on the axis of those on screen.
    private func showRows() {
        let new = TimeAxis(lines[visible], now: .now)
        if new != axis { labels.invalidate() }
        axis = new
        for address in rows.keys { showRow(address) }
    }

    /// The positions of the lines on screen. All rows have the same height.
    private var visible: Range<Int> {
        let height = gtk_adjustment_get_upper(adjustment) / Double(max(lines.count, 1))
        guard height >= 1 else { return lines.indices }
        let top = gtk_adjustment_get_value(adjustment)
        let first = Int(top / height)
        let end = Int(((top + gtk_adjustment_get_page_size(adjustment)) / height).rounded(.up))
        return lines.indices.clamped(to: first..<max(first, end))
    }

    private func showRow(_ address: UInt) {
        guard let item = OpaquePointer(bitPattern: address), let line = line(at: gtk_list_item_get_position(item))
        else { return }
        rows[address]?.show(line, on: axis, of: item)
    }
}
