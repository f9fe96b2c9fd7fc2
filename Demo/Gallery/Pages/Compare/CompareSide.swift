internal import CWebImageGtk4
import GtkWebImage

/// One half of the comparison: a heading, a wall, and its figures below.
@MainActor
final class CompareSide {
    let title: String
    let widget: Widget
    let wall: any ComparedWall
    private(set) var figures = CompareFigures()
    private let byteCount: () -> Int
    private let values: [Widget]

    /// - Parameter byteCount: Returns what the server has sent to this side.
    init(_ title: String, _ wall: any ComparedWall, byteCount: @escaping () -> Int) {
        (self.title, self.wall, self.byteCount) = (title, wall, byteCount)
        let heading = label(title, "heading")
        gtk_widget_set_vexpand(wall.grid.widget, 1)
        setName(wall.grid.widget, title)
        let table = gtk_grid_new()!
        gtk_grid_set_column_spacing(cast(OpaquePointer(table)), 6)
        var values: [Widget] = []
        for (number, row) in figures.rows.enumerated() {
            let (name, value) = (label(row.name, "caption", "dim-label"), valueLabel(row.value, "caption"))
            // A name that wrapped would make the least height of the page that of its narrowest column.
            gtk_label_set_wrap(OpaquePointer(name), 0)
            gtk_label_set_ellipsize(OpaquePointer(name), PANGO_ELLIPSIZE_END)
            gtk_widget_set_hexpand(name, 1)
            gtk_grid_attach(cast(OpaquePointer(table)), name, 0, Int32(number), 1, 1)
            gtk_grid_attach(cast(OpaquePointer(table)), value, 1, Int32(number), 1, 1)
            values.append(value)
        }
        self.values = values
        // The figures are in line with the summary above, and apart from those of the other side.
        for widget in [heading, table] {
            gtk_widget_set_margin_start(widget, 6)
            gtk_widget_set_margin_end(widget, 6)
        }
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [heading, wall.grid.widget, table])
    }

    /// Looks at the cells of a frame.
    func look() { figures.add(wall.cellsInView) }

    /// Shows the figures.
    func update() {
        figures.byteCount = byteCount()
        figures.pixelByteCount = wall.pixelByteCount
        for (value, row) in zip(values, figures.rows) { setText(value, row.value) }
    }

    func add(_ times: FrameTimes) { figures.add(times) }
}
