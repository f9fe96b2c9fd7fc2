internal import CWebImageGtk4
import FoundationEssentials

/// A GtkGridView in a scrolled window, which scrolls without a user.
@MainActor
final class WallGrid {
    /// The fewest and the most columns of a wall that fills the page.
    static let columns = 2...8

    let widget: Widget
    /// The GtkGridView.
    let view: OpaquePointer
    private let adjustment: UnsafeMutablePointer<GtkAdjustment>

    init(_ view: Widget, columns: ClosedRange<Int> = WallGrid.columns) {
        setName(view, tr("Images"))
        self.view = OpaquePointer(view)
        widget = gtk_scrolled_window_new()
        let scrolled = OpaquePointer(widget)
        adjustment = gtk_scrolled_window_get_vadjustment(scrolled)
        gtk_grid_view_set_min_columns(self.view, guint(columns.lowerBound))
        gtk_grid_view_set_max_columns(self.view, guint(columns.upperBound))
        gtk_scrolled_window_set_policy(scrolled, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(scrolled, view)
    }

    /// The model of a list of URLs.
    static func model(of urls: [URL]) -> OpaquePointer {
        let model = gtk_string_list_new(nil)!
        for url in urls { gtk_string_list_append(model, url.absoluteString) }
        return model
    }

    func onScroll(_ body: @escaping () -> Void) {
        connect(OpaquePointer(adjustment), "value-changed", body)
    }

    /// How far the wall is scrolled down, in application pixels.
    var offset: Double {
        get { gtk_adjustment_get_value(adjustment) }
        set { gtk_adjustment_set_value(adjustment, newValue) }
    }

    /// How far the wall can be scrolled down.
    var end: Double { max(0, gtk_adjustment_get_upper(adjustment) - gtk_adjustment_get_page_size(adjustment)) }

    /// Scrolls down by nine tenths of a page.
    /// - Returns: Whether the end was not reached before.
    func scrollDown() -> Bool {
        guard offset < end - 1 else { return false }
        offset += gtk_adjustment_get_page_size(adjustment) * 0.9
        return true
    }

    /// Whether a widget in the grid is in view, even by a row of pixels.
    func shows(_ cell: Widget) -> Bool {
        var bounds = graphene_rect_t()
        guard gtk_widget_get_mapped(cell) != 0, gtk_widget_compute_bounds(cell, widget, &bounds) != 0 else {
            return false
        }
        let (top, height) = (bounds.origin.y, bounds.size.height)
        return top + height > 0 && top < Float(gtk_widget_get_height(widget))
    }
}
