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
                setText(caption, "\(name): \(image.pixelSize), \(image.scale)×")
            }
        }
        let grown = sizedPicture(width: -1, height: -1)
        let size = label("", "caption")
        let room = gtk_overlay_new()!
        gtk_overlay_set_child(OpaquePointer(room), gtk_box_new(GTK_ORIENTATION_VERTICAL, 0))
        gtk_overlay_add_overlay(OpaquePointer(room), grown.widget)
        gtk_widget_set_halign(room, GTK_ALIGN_START)
        let url = context.fresh("coffee.jpg")
        let show = { (width: Int32) in
            gtk_widget_set_size_request(room, width, width * 3 / 4)
            grown.setImage(with: url) { _ in
                setText(size, grown.currentImage.map { "\($0.pixelSize)" } ?? "")
            }
        }
        show(120)
        let smaller = button(tr("120 points wide")) { show(120) }
        let larger = button(tr("320 points wide")) { show(320) }
        let cells = zip(pictures, captions).map { picture, caption in
            box(GTK_ORIENTATION_VERTICAL, spacing: 6, [fixed(picture.widget), caption])
        }
        return PageContent(
            box(
                GTK_ORIENTATION_VERTICAL,
                [flow(cells, columns: 2), controls([smaller, larger]), room, size]
            ),
            waitsFor: pictures + [grown]
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
