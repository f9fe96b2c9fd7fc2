internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

/// One half of the comparison: a wall whose images are all in view, and below it a bar and figures that grow.
@MainActor
final class CompareSide {
    /// Shows an image in a GtkPicture, and then calls back with the bytes of its pixels, or 0 after a failure.
    typealias Show = (URL, Picture, _ ended: @escaping @MainActor @Sendable (Int) -> Void) -> Void

    private static let (columns, rows) = (6, 8)

    let widget: Widget
    private let pictures = (0..<columns * rows).map { _ in sizedPicture(width: 16, height: 12) }
    /// `nil` when it has ended.
    private(set) var run: CompareRun?
    private let wall = gtk_grid_new()!
    /// Stands for the wall when it is frozen.
    private let frozen = OpaquePointer(gtk_picture_new()!)
    private let folder: String
    private let show: Show
    private let bar: Widget
    private let values: [Widget]

    /// - Parameter folder: The folder of the gallery's images.
    init(_ title: String, folder: String, _ show: @escaping Show) {
        (self.folder, self.show) = (folder, show)
        let grid = cast(OpaquePointer(wall), to: GtkGrid.self)
        for set in [gtk_grid_set_row_homogeneous, gtk_grid_set_column_homogeneous] { set(grid, 1) }
        for set in [gtk_grid_set_row_spacing, gtk_grid_set_column_spacing] { set(grid, 3) }
        let overlay = OpaquePointer(gtk_overlay_new()!)
        gtk_overlay_set_child(overlay, wall)
        gtk_overlay_add_overlay(overlay, cast(frozen))
        gtk_picture_set_content_fit(frozen, GTK_CONTENT_FIT_CONTAIN)
        gtk_widget_set_vexpand(wall, 1)
        for (number, picture) in pictures.enumerated() {
            let (row, column) = number.quotientAndRemainder(dividingBy: Self.columns)
            gtk_grid_attach(grid, picture.widget, Int32(column), Int32(row), 1, 1)
        }
        let names = [tr("Pixels"), tr("Transferred"), tr("Time"), tr("Longest frame")]
        bar = levelBar("\(title): \(names[0])")
        gtk_widget_add_css_class(bar, "thick")
        let values = names.map { _ in valueLabel("") }
        let rows = zip(names, values).map { name, value in
            let (style, name) = (name == names[0] ? "heading" : "caption", label(name))
            // A name that wrapped would make the least height of the page that of its narrowest column.
            gtk_label_set_wrap(OpaquePointer(name), 0)
            gtk_label_set_ellipsize(OpaquePointer(name), PANGO_ELLIPSIZE_END)
            gtk_widget_set_hexpand(name, 1)
            for cell in [name, value] { gtk_widget_add_css_class(cell, style) }
            return box(GTK_ORIENTATION_HORIZONTAL, spacing: 6, [name, value])
        }
        self.values = values
        let table = box(GTK_ORIENTATION_VERTICAL, spacing: 0, rows)
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [label(title, "heading"), cast(overlay), bar, table])
    }

    var imageCount: Int { pictures.count }

    /// Loads all images, under URLs that no cache knows.
    /// - Parameter ended: Called when all images have ended.
    func start(ended: @escaping () -> Void) throws {
        let run = try CompareRun(folder, imageCount: pictures.count, ended: ended)
        self.run = run
        gtk_picture_set_paintable(frozen, nil)
        for (number, picture) in pictures.enumerated() {
            picture.setImageDescription(run.urls[number].imageTitle)
            show(run.urls[number], picture) { [weak run] byteCount in run?.add(byteCount) }
        }
    }

    /// Ends all transfers, and the server.
    func stop() { run = nil }

    /// Replaces all images by one of the wall as it is seen, which takes little memory.
    func freeze() {
        let texture = try? Screenshot.texture(of: wall)
        gtk_picture_set_paintable(frozen, texture)
        if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
        for picture in pictures { gtk_picture_set_paintable(OpaquePointer(picture.widget), nil) }
    }

    /// Shows the figures.
    /// - Parameter full: The bytes of pixels for which the bar is full.
    func update(full: Int) {
        guard let run else { return }
        gtk_level_bar_set_value(OpaquePointer(bar), min(Double(run.pixelByteCount) / Double(max(full, 1)), 1))
        let texts = [
            Page.size(run.pixelByteCount), Page.size(run.server.line.byteCount),
            tr("%1 s", Page.number(run.time / .seconds(1))),
            run.longestFrame.map { tr("%1 ms", Int($0.rounded())) } ?? "–",
        ]
        for (value, text) in zip(values, texts) { setText(value, text) }
    }
}
