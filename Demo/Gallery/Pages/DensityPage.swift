internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let density = Page(
        id: "density",
        title: tr("Pixel density"),
        summary: tr(
            "Images are decoded at the pixel size of the widget on this screen, and again when the widget grows. A file named @2x has twice the pixels per point."
        ),
        code: """
            var request = ImageRequest(url: url, decodeSize: .original)
            request.isFirstFrameOnly = true
            picture.setImage(with: request)
            grown.setImage(with: url)
            """
    ) { context in
        let names = ["day-and-night.webp", "day-and-night@2x.webp"]
        let pictures = names.map { _ in Picture() }
        let captions = names.map { _ in label("", "caption") }
        for (index, name) in names.enumerated() {
            let caption = captions[index]
            gtk_widget_set_size_request(pictures[index].widget, 320 / Int32(index + 1), 240 / Int32(index + 1))
            var request = ImageRequest(url: context.fresh(name), decodeSize: .original)
            request.isFirstFrameOnly = true
            pictures[index].setImage(with: request) { result in
                guard let image = try? result.get().image else { return }
                setText(caption, "\(name): \(Page.size(image.pixelSize)), \(Page.number(image.scale, padded: false))×")
            }
        }
        let grown = GrowingPicture(context.fresh("coffee.jpg"))
        let sizes = [
            button(tr("120 points wide")) { grown.width = 120 }, button(tr("240 points wide")) { grown.width = 240 },
        ]
        let cells = zip(pictures, captions).map { picture, caption in
            box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), caption])
        }
        return PageContent(
            box(GTK_ORIENTATION_VERTICAL, [controls(sizes), grown.widget, flow(cells, columns: 2)]),
            waitsFor: pictures + [grown.picture],
            owner: grown
        )
    }

    @MainActor
    private static func sample(_ picture: Picture, grown: Picture, url: URL) {
        var request = ImageRequest(url: url, decodeSize: .original)
        request.isFirstFrameOnly = true
        picture.setImage(with: request)
        grown.setImage(with: url)
    }
}

/// A GtkPicture that changes its size, and says below itself which pixels it has.
@MainActor
private final class GrowingPicture {
    let picture = sizedPicture(width: -1, height: -1)
    let widget: Widget
    private let room = gtk_overlay_new()!
    private let caption = label("", "caption")
    private var largestWidth: Int32 = 0

    init(_ url: URL) {
        widget = box(GTK_ORIENTATION_VERTICAL, spacing: 6, [room, caption])
        gtk_overlay_set_child(OpaquePointer(room), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
        gtk_overlay_add_overlay(OpaquePointer(room), picture.widget)
        gtk_widget_set_halign(room, GTK_ALIGN_START)
        resize()
        picture.setImage(with: url)
        // The paintable is that of all images of this widget. It also changes when an image is decoded anew.
        guard let paintable = gtk_picture_get_paintable(OpaquePointer(picture.widget)) else { return }
        connect(paintable, "invalidate-contents") { [weak self] in self?.describe() }
    }

    /// The width of the widget in application pixels.
    var width: Int32 = 120 { didSet { resize() } }

    private func resize() {
        gtk_widget_set_size_request(room, width, width * 3 / 4)
        largestWidth = max(largestWidth, width)
        describe()
    }

    private func describe() {
        guard let image = picture.currentImage else { return }
        let scale = gtk_widget_get_scale_factor(room)
        let place = PixelSize(width: Int(width * scale), height: Int(width * 3 / 4 * scale))
        var lines = [
            "\(tr("Pixels of the widget")): \(Page.size(place))",
            "\(tr("Pixels of the decoded image")): \(Page.size(image.pixelSize))",
        ]
        if width < largestWidth { lines.append(tr("The image stays as it was decoded for the larger widget.")) }
        setText(caption, lines.joined(separator: "\n"))
    }
}
