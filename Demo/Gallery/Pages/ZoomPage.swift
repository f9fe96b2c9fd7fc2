internal import CWebImageGtk4
import FoundationEssentials
import GtkWebImage
import GtkWebImageWidgets

extension Page {
    static let zoom = Page(
        id: "zoom",
        title: tr("Zooming"),
        summary: tr("A large image, decoded for its size on screen: zoom in to see more detail."),
        code: """
            gtk_widget_set_size_request(picture.widget, width, height)
            picture.setImage(with: url, options: BindingOptions(whileLoading: .placeholderOrCurrentImage))
            """
    ) { context in
        let picture = Picture()
        let url = context.fresh("deep-field.jpg")
        let scrolled = gtk_scrolled_window_new()!
        gtk_widget_set_size_request(scrolled, 300, 420)
        gtk_widget_set_vexpand(scrolled, 1)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), picture.widget)
        gtk_widget_set_halign(picture.widget, GTK_ALIGN_CENTER)
        gtk_widget_set_valign(picture.widget, GTK_ALIGN_CENTER)
        picture.setImageDescription(tr("Galaxies"))
        let text = label("", "caption", "numeric")
        var zoom = 0
        let change = { (step: Int) in
            zoom = min(max(zoom + step, 0), 6)
            let width = 300.0 * [1, 1.4, 2, 2.8, 4, 5.6, 8][zoom]
            show(url, in: picture, width: Int32(width), height: Int32(width * 0.75)) {
                setText(text, picture.currentImage.map { "\($0.pixelSize)" } ?? "")
            }
        }
        change(1)
        let row = controls([
            button(icon: "zoom-out-symbolic", tr("Zoom out")) { change(-1) },
            button(icon: "zoom-in-symbolic", tr("Zoom in")) { change(1) }, text,
        ])
        return PageContent(box(GTK_ORIENTATION_VERTICAL, [row, scrolled]), waitsFor: [picture])
    }

    @MainActor
    private static func show(
        _ url: URL,
        in picture: Picture,
        width: Int32,
        height: Int32,
        done: @escaping @MainActor @Sendable () -> Void
    ) {
        gtk_widget_set_size_request(picture.widget, width, height)
        picture.setImage(with: url, options: BindingOptions(whileLoading: .placeholderOrCurrentImage)) { _ in done() }
    }

    @MainActor
    private static func sample(_ picture: Picture, url: URL, width: Int32, height: Int32) {
        gtk_widget_set_size_request(picture.widget, width, height)
        picture.setImage(with: url, options: BindingOptions(whileLoading: .placeholderOrCurrentImage))
    }
}
