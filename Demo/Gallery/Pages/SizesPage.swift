internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets
import WebImageServices

extension Page {
    static let sizes = Page(
        id: "sizes",
        title: tr("Sizes and density"),
        summary: tr(
            "A server scales each image to the pixels of its widget on this screen. A larger widget asks for a larger image; a smaller one keeps what it has. A file named @2x has twice the pixels per point."
        ),
        uses: ["imageService", "imageBinding.manager", "ImageManager(configuration:"]
    ) { context in
        guard let server = try? ScalingServer(folder: context.server.folder) else {
            return PageContent(label(tr("The server that scales cannot be started.")))
        }
        let url = context.fresh("dusk-mountains.jpg")
        var configuration = ImageManager.Configuration()
        configuration.diskCache = nil
        configuration.imageService = server.service
        let manager = ImageManager(configuration: configuration)
        let picture = sizedPicture(width: -1, height: -1, covers: false)
        picture.imageBinding.manager = manager
        picture.setImage(with: url)
        let scaled = ScaledPicture(picture, manager)
        let buttons = [60, 120, 240, 320].map { width in
            button(tr("%1 points wide", width)) { scaled.resize(to: width) }
        }
        let names = ["day-and-night.webp", "day-and-night@2x.webp"]
        let pictures = names.indices.map { sizedPicture(width: 320 / (Int32($0) + 1), height: 240 / (Int32($0) + 1)) }
        let cells = zip(pictures, names).map { picture, name in
            let caption = label("", "caption")
            var request = ImageRequest(url: context.fresh(name), decodeSize: .original)
            request.isFirstFrameOnly = true
            picture.setImage(with: request) { result in
                guard let image = try? result.get().image else { return }
                setText(caption, "\(name): \(size(image.pixelSize)), \(number(image.scale, padded: false))×")
            }
            return box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), caption])
        }
        let parts = [controls(buttons), scaled.widget, flow(cells, columns: 2)]
        return PageContent(box(GTK_ORIENTATION_VERTICAL, parts), owner: (scaled, server) as AnyObject)
    }
}

/// A GtkPicture that changes its size, and says below itself which pixels it has and what the server was asked for.
@MainActor
private final class ScaledPicture {
    let widget: Widget
    private let picture: Picture
    private let room = gtk_overlay_new()!
    private let caption = label("", "caption", "numeric")
    private var width = 240
    private var requests: [String] = []
    private var observation: ObservationToken?

    init(_ picture: Picture, _ manager: ImageManager) {
        self.picture = picture
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [room, caption])
        gtk_overlay_set_child(OpaquePointer(room), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
        gtk_overlay_add_overlay(OpaquePointer(room), picture.widget)
        gtk_widget_set_halign(room, GTK_ALIGN_START)
        observation = manager.observe { [weak self] event in
            guard case .fetched = event.kind else { return }
            // The address of the image stands at the end of that of the server.
            let address = event.url.absoluteString.split(separator: "/http").first.map(String.init) ?? ""
            Task { @MainActor in self?.requests.append(address) }
        }
        // The paintable is that of all images of this widget. It also changes when an image is decoded again.
        if let paintable = gtk_picture_get_paintable(OpaquePointer(picture.widget)) {
            connect(paintable, "invalidate-contents") { [weak self] in self?.describe() }
        }
        resize(to: width)
    }

    /// - Parameter width: The width of the widget in application pixels.
    func resize(to width: Int) {
        self.width = width
        gtk_widget_set_size_request(room, Int32(width), Int32(width) * 5 / 8)
        describe()
    }

    private func describe() {
        guard let image = picture.currentImage else { return }
        let scale = Int(gtk_widget_get_scale_factor(room))
        let place = PixelSize(width: width * scale, height: width * 5 / 8 * scale)
        let sizes = [tr("Pixels of the widget"), tr("Pixels of the decoded image")]
        let lines = zip(sizes, [place, image.pixelSize]).map { "\($0): \(Page.size($1))" }
        setText(caption, (lines + requests.suffix(4)).joined(separator: "\n"))
    }
}
