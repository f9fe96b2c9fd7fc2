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
            "A large image of 50 megapixels, decoded only where one looks: with the wheel, a pinch, a drag, a double click, the arrows and the keys + - 0 1."
        ),
        uses: ["ZoomView", "view.setImage", "view.zoom"],
        isFilling: true
    ) { context in
        let view = ZoomView()
        view.setImageDescription(tr("A mosaic of images"))
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
        Mosaic(of: context.server.names, in: context.server.folder).prepare { url in
            guard let url else { return state.fail() }
            view.setImage(with: url)
        }
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [head, view.widget]), owner: state) { state.isAtRest }
    }
}

/// Says what the view shows: the zoom, the size of the tiles, the visible region, and the memory of the pixels.
@MainActor
private final class ZoomState {
    let label = webimage_gallery.label(tr("The image is being drawn, which takes some seconds."), "caption", "numeric")
    private let view: ZoomView
    private var hasFailed = false

    init(_ view: ZoomView) {
        self.view = view
        view.onChange = { [weak self] in self?.update() }
    }

    var isAtRest: Bool { hasFailed || (view.image != nil || view.error != nil) && !view.isLoading }

    func fail() {
        hasFailed = true
        setText(label, tr("The image cannot be written to the cache folder."))
    }

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
