internal import CWebImageGtk4
import FoundationEssentials

/// A GtkGridView in a scrolled window, which scrolls without a user.
@MainActor
final class WallGrid {
    let widget: Widget
    /// The GtkGridView.
    let view: OpaquePointer
    private let adjustment: UnsafeMutablePointer<GtkAdjustment>

    init(_ view: Widget) {
        setName(view, tr("Images"))
        self.view = OpaquePointer(view)
        widget = gtk_scrolled_window_new()
        let scrolled = OpaquePointer(widget)
        adjustment = gtk_scrolled_window_get_vadjustment(scrolled)
        gtk_grid_view_set_min_columns(self.view, 2)
        gtk_grid_view_set_max_columns(self.view, 8)
        gtk_scrolled_window_set_policy(scrolled, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_child(scrolled, view)
        onKey(in: view) { press in
            let isForward = press.key == GDK_KEY_Tab && press.modifiers.rawValue & GDK_SHIFT_MASK.rawValue == 0
            guard isForward || press.key == GDK_KEY_Tab || press.key == GDK_KEY_ISO_Left_Tab else { return false }
            return Self.leave(view, isForward ? GTK_DIR_TAB_FORWARD : GTK_DIR_TAB_BACKWARD)
        }
    }

    /// Moves the focus to the control beside the grid. GtkGridView would lead it through all cells, which the arrows do as well;
    /// its property for that came with GTK 4.12.
    private static func leave(_ view: Widget, _ direction: GtkDirectionType) -> Bool {
        guard let root = gtk_widget_get_root(view) else { return false }
        gtk_widget_set_can_focus(view, 0)
        defer { gtk_widget_set_can_focus(view, 1) }
        return gtk_widget_child_focus(cast(root), direction) != 0
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
