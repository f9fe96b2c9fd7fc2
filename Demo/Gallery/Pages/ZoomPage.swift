internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import GtkWebImageZoom

extension Page {
    static let zoom = Page(
        id: "zoom",
        title: tr("Zoom"),
        summary: tr(
            "A map of 58 megapixels, decoded only where one looks: with the wheel, a pinch, a drag, a double click, the arrows and the keys + - 0 1."
        ),
        uses: ["ZoomView", "view.setImage", "view.zoom"],
        isFilling: true
    ) { context in
        let view = ZoomView()
        view.setImageDescription(tr("A map of the world"))
        gtk_widget_set_size_request(view.widget, 200, 200)
        let state = ZoomState(view)
        let row = controls([
            button(icon: "zoom-out-symbolic", tr("Zoom out")) { view.zoom /= 1.5 },
            button(icon: "zoom-in-symbolic", tr("Zoom in")) { view.zoom *= 1.5 },
            button(icon: "zoom-fit-best-symbolic", tr("Show the whole image")) { view.zoomToFit() },
            button(icon: "zoom-original-symbolic", tr("Show its pixels")) { view.zoom = 1 },
        ])
        let head = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [row, state.label])
        gtk_widget_set_margin_start(head, 12)
        gtk_widget_set_margin_end(head, 12)
        view.setImage(with: context.server.storedURL("large/world-map.jpg", set: "zoom"))
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [head, view.widget]), owner: state) { state.isAtRest }
    }
}

/// Says what the view shows: the zoom, the size of the tiles, the visible region, and the memory of the pixels.
@MainActor
private final class ZoomState {
    let label = webimage_gallery.label(tr("Loading …"), "caption", "numeric")
    private let view: ZoomView

    init(_ view: ZoomView) {
        self.view = view
        view.onChange = { [weak self] in self?.update() }
    }

    var isAtRest: Bool { (view.image != nil || view.error != nil) && !view.isLoading }

    private func update() {
        if let error = view.error { return setText(label, "\(error)") }
        guard let image = view.image, let region = view.visibleRegion else { return }
        setText(
            label,
            tr(
                "%1 pixels · in view %2 at %3, %4 · zoom %5 %",
                Page.size(image.size),
                Page.size(region.size),
                region.x,
                region.y,
                Int((view.zoom * 100).rounded())
            )
        )
    }
}
