internal import CWebImageGtk4
internal import CWebImageGtkShims
import FoundationEssentials
import GtkWebImage

/// The images of a window and their positions.
@MainActor
struct WindowImages {
    /// A widget with an image that is at least partly visible.
    struct Visible {
        let request: ImageRequest
        /// The visible part of the widget, in window coordinates.
        let box: Box
    }

    let window: Widget

    /// The images on screen.
    var visible: [Visible] {
        WidgetPointer(window.raw).images.bound.compactMap { image in
            visibleBox(of: image.widget.native()).map { Visible(request: image.request, box: $0) }
        }
    }

    /// Requests that load the images on screen again, past all caches, at about the size of the visible parts of
    /// their widgets.
    var reloads: [ImageRequest] {
        visible.map { image in
            var request = image.request
            request.cachePolicy = .reload
            let scale = gwi_widget_get_scale(window)
            let size = PixelSize(width: Int(image.box.width * scale), height: Int(image.box.height * scale))
            request.decodeSize = request.decodeSize ?? .cover(size)
            return request
        }
    }

    /// The image at a point in window coordinates, from the innermost widget with an image.
    func url(x: Double, y: Double) -> URL? {
        let images = WidgetPointer(window.raw).images.bound
        var next = gtk_widget_pick(window, x, y, GTK_PICK_DEFAULT)
        while let widget = next {
            if let image = images.first(where: { $0.widget.native() == widget }) { return image.request.url }
            next = gtk_widget_get_parent(widget)
        }
        return nil
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
