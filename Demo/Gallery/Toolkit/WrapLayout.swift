internal import CWebImageGtk4

/// A layout of rows that wrap, packed from the start. GTK 4.8 has only GtkFlowBox, which spreads its children over the width and
/// adds a widget around each that takes the focus.
@MainActor
struct WrapLayout {
    /// Between children, in application pixels.
    static let spacing: Int32 = 12
    /// The key under which a widget keeps the highest number of columns. A widget without one has no columns.
    private static let columnsKey = "webimage-gallery-columns"

    /// Creates a widget with this layout.
    /// - Parameter columns: The highest number of columns, all of the same width. `nil` for children of their own widths.
    static func widget(_ children: [Widget], columns: Int? = nil) -> Widget {
        let widget = box(GTK_ORIENTATION_HORIZONTAL, spacing: 0, children)
        if let columns {
            g_object_set_data(cast(OpaquePointer(widget)), columnsKey, UnsafeMutableRawPointer(bitPattern: columns))
        }
        let layout = gtk_custom_layout_new(
            { _ in GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH },
            { widget, orientation, size, minimum, natural, _, _ in
                let measured = MainActor.assumeIsolated { WrapLayout(widget!).measure(orientation, for: size) }
                minimum?.pointee = measured.minimum
                natural?.pointee = measured.natural
            },
            { widget, width, _, _ in MainActor.assumeIsolated { WrapLayout(widget!).allocate(width) } }
        )
        gtk_widget_set_layout_manager(widget, layout)
        return widget
    }

    private let children: [Widget]
    private let columns: Int?
    private let isRightToLeft: Bool

    private init(_ widget: Widget) {
        children = childWidgets(of: widget).filter { gtk_widget_should_layout($0) != 0 }
        columns = g_object_get_data(cast(OpaquePointer(widget)), Self.columnsKey).map { Int(bitPattern: $0) }
        isRightToLeft = gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL
    }

    private func measure(_ orientation: GtkOrientation, for size: Int32) -> (minimum: Int32, natural: Int32) {
        let widths = children.map(width)
        let widest = widths.map(\.natural).max() ?? 0
        let minimum = widths.map(\.minimum).max() ?? 0
        let count = Int32(min(children.count, columns ?? .max))
        let sum = columns == nil ? widths.map(\.natural).reduce(0, +) : widest * count
        let natural = max(minimum, sum + max(0, count - 1) * Self.spacing)
        guard orientation == GTK_ORIENTATION_VERTICAL else { return (minimum, natural) }
        let height = rows(in: size < 0 ? natural : size).last.map { $0.y + $0.height } ?? 0
        return (height, height)
    }

    private func allocate(_ width: Int32) {
        for row in rows(in: width) {
            for cell in row.cells {
                var place = GtkAllocation(x: cell.x, y: row.y, width: cell.width, height: row.height)
                if isRightToLeft { place.x = width - cell.x - cell.width }
                gtk_widget_size_allocate(cell.widget, &place, -1)
            }
        }
    }

    private struct Row {
        var cells: [(widget: Widget, x: Int32, width: Int32)] = []
        var y: Int32
        var height: Int32 = 0
    }

    private func rows(in width: Int32) -> [Row] {
        let common = children.map { self.width($0).natural }.max() ?? 0
        var rows: [Row] = []
        var x: Int32 = 0
        for child in children {
            let wanted = columns == nil ? self.width(child).natural : common
            let own = max(self.width(child).minimum, min(wanted, width))
            let isFull = rows.last.map { x + own > width || $0.cells.count >= columns ?? .max } ?? true
            if isFull {
                rows.append(Row(y: rows.last.map { $0.y + $0.height + Self.spacing } ?? 0))
                x = 0
            }
            var height: Int32 = 0
            gtk_widget_measure(child, GTK_ORIENTATION_VERTICAL, own, nil, &height, nil, nil)
            rows[rows.count - 1].cells.append((child, x, own))
            rows[rows.count - 1].height = max(rows[rows.count - 1].height, height)
            x += own + Self.spacing
        }
        return rows
    }

    private func width(_ child: Widget) -> (minimum: Int32, natural: Int32) {
        var (minimum, natural) = (Int32(0), Int32(0))
        gtk_widget_measure(child, GTK_ORIENTATION_HORIZONTAL, -1, &minimum, &natural, nil, nil)
        return (minimum, natural)
    }
}
