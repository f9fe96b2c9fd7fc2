internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage

/// The images of a window and their positions.
@MainActor
struct WindowImages {
    /// A widget with an image that is at least partly visible.
    struct Visible: Equatable {
        let url: URL
        /// The visible part of the widget, in window coordinates.
        let box: Box
    }

    let window: Widget

    /// The images on screen.
    var visible: [Visible] {
        WidgetPointer(window.raw).images.bound.compactMap { image in
            visibleBox(of: widget(of: image)).map { Visible(url: image.request.url, box: $0) }
        }
    }

    /// The image at a point in window coordinates, from the innermost widget with an image.
    func url(x: Double, y: Double) -> URL? {
        let images = WidgetPointer(window.raw).images.bound
        var next = gtk_widget_pick(window, x, y, GTK_PICK_DEFAULT)
        while let widget = next {
            if let image = images.first(where: { self.widget(of: $0) == widget }) { return image.request.url }
            next = gtk_widget_get_parent(widget)
        }
        return nil
    }

    private func widget(of image: BoundImage) -> Widget {
        image.widget.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)
    }

    /// The part of a widget that is not clipped by its window or by an ancestor, such as a viewport.
    private func visibleBox(of widget: Widget) -> Box? {
        guard gtk_widget_get_mapped(widget) != 0, var bounds = bounds(of: widget) else { return nil }
        var ancestor = gtk_widget_get_parent(widget)
        while let current = ancestor {
            if current == window || gtk_widget_get_overflow(current) == GTK_OVERFLOW_HIDDEN {
                guard var clip = self.bounds(of: current) else { return nil }
                var common = graphene_rect_t()
                guard graphene_rect_intersection(&bounds, &clip, &common) else { return nil }
                bounds = common
            }
            ancestor = current == window ? nil : gtk_widget_get_parent(current)
        }
        guard bounds.size.width >= 1, bounds.size.height >= 1 else { return nil }
        return Box(
            x: Double(bounds.origin.x),
            y: Double(bounds.origin.y),
            width: Double(bounds.size.width),
            height: Double(bounds.size.height)
        )
    }

    private func bounds(of widget: Widget) -> graphene_rect_t? {
        var bounds = graphene_rect_t()
        return gtk_widget_compute_bounds(widget, window, &bounds) != 0 ? bounds : nil
    }
}
