internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
import GtkWebImage

/// A GtkGridView of images. Its cells are recycled: scrolling binds each cell to one URL after the other.
@MainActor
final class ImageWall {
    /// The state of one cell.
    struct Cell {
        let picture: PicturePointer
        let url: URL
        let isMapped: Bool
    }

    let widget: UnsafeMutablePointer<GtkWidget>
    var onActivate: ((Int) -> Void)?
    private let gridView: OpaquePointer
    private let scrolled: OpaquePointer
    /// The URLs of the bound cells, by the address of their GtkPicture.
    private var bound: [UnsafeMutableRawPointer: URL] = [:]

    init(urls: [URL]) {
        let model = gtk_string_list_new(nil)!
        for url in urls { gtk_string_list_append(model, url.absoluteString) }
        let factory = gtk_signal_list_item_factory_new()!
        gridView = OpaquePointer(gtk_grid_view_new(gtk_no_selection_new(model), factory))
        scrolled = OpaquePointer(gtk_scrolled_window_new())
        widget = cast(scrolled)
        gtk_grid_view_set_min_columns(gridView, 2)
        gtk_grid_view_set_max_columns(gridView, 8)
        gtk_grid_view_set_single_click_activate(gridView, 1)
        gtk_scrolled_window_set_policy(scrolled, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(scrolled, cast(gridView))

        connect(factory, "setup") { [weak self] item in self?.setUp(item) }
        connect(factory, "bind") { [weak self] item in self?.bind(item) }
        connect(factory, "unbind") { [weak self] item in self?.unbind(item) }
        connectActivate(gridView) { [weak self] position in self?.onActivate?(position) }
    }

    // All that an app writes for a list: set up a cell, bind it, unbind it.

    private func setUp(_ item: OpaquePointer) {
        let picture = gtk_picture_new()!
        gtk_picture_set_content_fit(OpaquePointer(picture), GTK_CONTENT_FIT_COVER)
        gtk_widget_set_size_request(picture, 160, 120)
        gtk_list_item_set_child(item, picture)
    }

    private func bind(_ item: OpaquePointer) {
        guard let picture = gtk_list_item_get_child(item), let url = url(of: item) else { return }
        PicturePointer(picture).setImage(with: url, placeholder: .icon("image-x-generic-symbolic"))
        gtk_picture_set_alternative_text(OpaquePointer(picture), url.lastPathComponent)
        gwi_list_item_set_accessible_label(item, url.lastPathComponent)
        bound[picture] = url
    }

    private func unbind(_ item: OpaquePointer) {
        guard let picture = gtk_list_item_get_child(item) else { return }
        PicturePointer(picture).cancelCurrentImageLoad()
        bound[picture] = nil
    }

    private func url(of item: OpaquePointer) -> URL? {
        guard let object = gtk_list_item_get_item(item) else { return nil }
        return URL(string: String(cString: gtk_string_object_get_string(OpaquePointer(object))))
    }
}

// The state that the tour and the tests inspect.
extension ImageWall {
    var cells: [Cell] {
        bound.map { picture, url in
            let isMapped = gtk_widget_get_mapped(picture.assumingMemoryBound(to: GtkWidget.self)) != 0
            return Cell(picture: PicturePointer(picture), url: url, isMapped: isMapped)
        }
    }

    var isAtRest: Bool {
        let visible = cells.filter(\.isMapped)
        return !visible.isEmpty && visible.allSatisfy { $0.picture.imageTask(for: .image)?.isFinished ?? false }
    }

    /// Scrolls down by nine tenths of a page.
    /// - Returns: Whether the end was not reached before.
    func scrollDown() -> Bool {
        let adjustment = gtk_scrolled_window_get_vadjustment(scrolled)
        let page = gtk_adjustment_get_page_size(adjustment)
        let value = gtk_adjustment_get_value(adjustment)
        guard value + page < gtk_adjustment_get_upper(adjustment) - 1 else { return false }
        gtk_adjustment_set_value(adjustment, value + page * 0.9)
        return true
    }
}
