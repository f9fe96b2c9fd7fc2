internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

/// What one cache holds: how full it is, and its newest images, each with a button that removes it.
@MainActor
final class CacheShelf {
    /// An image in the cache.
    struct Item {
        /// Tells the images apart.
        let id: AnyHashable
        let url: String
        let byteCount: Int
        let date: Date
        /// What else is known of it.
        let detail: String
        /// What is said of the thumbnail, where it is not the image itself.
        var note = ""
        let show: (Picture) -> Void
        let remove: () -> Void
    }

    /// How full the cache is.
    struct Level: Equatable {
        var count = 0
        var byteCount = 0
        var byteLimit: Int?
        /// What else is to be said.
        var notes = ""
    }

    let widget: Widget
    private let removeName: String
    private let text = label("", "caption", "numeric")
    private let bar = gtk_level_bar_new_for_interval(0, 1)!
    private let empty = label(tr("Nothing"), "dim-label")
    private let more = label("", "caption", "dim-label")
    private let grid = WrapLayout.widget([], columns: 8)
    private var cells: [AnyHashable: Cell] = [:]
    /// The ids of the cells in their order.
    private(set) var ids: [AnyHashable] = []
    private var level = Level()

    /// - Parameter removeName: What the buttons do that remove an image.
    init(_ title: String, removeName: String) {
        self.removeName = removeName
        // The colours of a battery do not fit: a full cache is a good one.
        for offset in [GTK_LEVEL_BAR_OFFSET_LOW, GTK_LEVEL_BAR_OFFSET_HIGH, GTK_LEVEL_BAR_OFFSET_FULL] {
            gtk_level_bar_remove_offset_value(OpaquePointer(bar), offset)
        }
        setName(bar, title)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [label(title, "heading"), text, bar, empty, grid, more])
        gtk_widget_set_margin_top(grid, 6)
    }

    /// Whether all thumbnails are there.
    var isAtRest: Bool { cells.values.allSatisfy { $0.picture.isAtRest } }

    /// Shows the state of the cache. What was there before stays as it is.
    /// - Returns: Whether it has changed.
    @discardableResult
    func update(_ items: [Item], _ level: Level) -> Bool {
        let hasChanged = level != self.level || items.map(\.id) != ids
        for id in ids where !items.contains(where: { $0.id == id }) { remove(id) }
        var previous: Widget?
        for item in items {
            let cell = cells[item.id] ?? insert(item)
            cell.update(item)
            gtk_box_reorder_child_after(cast(OpaquePointer(grid)), cell.widget, previous)
            previous = cell.widget
        }
        ids = items.map(\.id)
        self.level = level
        let share = level.byteLimit.map { $0 > 0 ? Double(level.byteCount) / Double($0) : 0 } ?? 0
        gtk_level_bar_set_value(OpaquePointer(bar), min(share, 1))
        let size = Page.size(level.byteCount)
        let text = level.byteLimit.map { tr("%1 of %2", size, Page.size($0)) } ?? size
        setText(self.text, "\(level.count) · \(text)\(level.notes)")
        gtk_widget_set_visible(empty, items.isEmpty ? 1 : 0)
        gtk_widget_set_visible(more, level.count > items.count ? 1 : 0)
        setText(more, tr("%1 more", plural: "%1 more", count: level.count - items.count))
        return hasChanged
    }

    private func insert(_ item: Item) -> Cell {
        let cell = Cell(item, removeName: removeName)
        cells[item.id] = cell
        append(cell.widget, to: grid)
        return cell
    }

    private func remove(_ id: AnyHashable) {
        guard let cell = cells.removeValue(forKey: id) else { return }
        // The focus goes to the next cell, not out of the grid.
        if gtk_widget_get_focus_child(grid) == cell.widget {
            let next = gtk_widget_get_next_sibling(cell.widget) ?? gtk_widget_get_prev_sibling(cell.widget)
            if let next { gtk_widget_child_focus(next, GTK_DIR_TAB_FORWARD) }
        }
        gtk_box_remove(cast(OpaquePointer(grid)), cell.widget)
    }

    /// A thumbnail with what is known of the image.
    @MainActor
    private final class Cell {
        let widget: Widget
        let picture = sizedPicture(width: 96, height: 72)
        private let caption = label("", "caption", "numeric")

        init(_ item: Item, removeName: String) {
            let frame = fixed(picture.widget)
            gtk_widget_set_halign(frame, GTK_ALIGN_START)
            let title = URL(string: item.url)?.imageTitle ?? item.url
            let remove = button(icon: "window-close-symbolic", "\(removeName): \(title)", item.remove)
            for name in ["osd", "circular", "badge-button"] { gtk_widget_add_css_class(remove, name) }
            gtk_widget_set_halign(remove, GTK_ALIGN_END)
            gtk_widget_set_valign(remove, GTK_ALIGN_START)
            gtk_widget_set_margin_top(remove, 3)
            gtk_widget_set_margin_end(remove, 3)
            gtk_overlay_add_overlay(OpaquePointer(frame), remove)
            gtk_widget_set_tooltip_text(picture.widget, item.url + item.note)
            picture.setImageDescription(title)
            picture.errorPlaceholder = .icon("image-missing-symbolic")
            picture.imagePlayback.isAutomatic = false
            let detail = label(item.detail, "caption", "dim-label")
            widget = box(GTK_ORIENTATION_VERTICAL, spacing: 3, [frame, caption, detail])
            item.show(picture)
        }

        func update(_ item: Item) {
            setText(caption, "\(Page.size(item.byteCount)) · \(age(of: item.date))")
        }

        private func age(of date: Date) -> String {
            let minutes = Int(-date.timeIntervalSinceNow / 60)
            return switch minutes {
            case ..<1: tr("now")
            case ..<60: tr("%1 min", minutes)
            case ..<1440: tr("%1 h", minutes / 60)
            default: tr("%1 day", plural: "%1 days", count: minutes / 1440)
            }
        }
    }
}
