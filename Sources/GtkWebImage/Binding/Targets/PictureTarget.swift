internal import CWebImageGtk4
import WebImageCore

/// A GtkPicture that shows the library's paintable, in one state of its widget.
@MainActor
final class PictureTarget: SlotTarget {
    private let paintable: ImagePaintable
    var content: PaintableContent? { paintable.content }
    private let presenter: PicturePresenter

    init(_ presenter: PicturePresenter, _ state: ImageState) {
        self.presenter = presenter
        paintable = presenter.paintable(for: state)
        paintable.content.styleWidget = { [weak picture = presenter.picture] in picture?.pointer }
    }

    var area: UnsafeMutablePointer<GtkWidget>? { presenter.picture.pointer }

    func attach() -> Bool {
        presenter.update()
        return true
    }

    func changed() {
        if presenter.hasStates { presenter.update() }
    }

    func decodeSize() -> DecodeSize? {
        guard let picture = area else { return nil }
        let width = Int(gtk_widget_get_width(picture))
        let height = Int(gtk_widget_get_height(picture))
        guard width > 1, height > 1, !isSizedByContent(picture, width, height) else { return nil }
        let native = OpaquePointer(picture)
        guard gtk_picture_get_can_shrink(native) != 0 else { return .original }
        let box = picture.deviceSize
        return switch gtk_picture_get_content_fit(native) {
        case GTK_CONTENT_FIT_COVER: .cover(box)
        case GTK_CONTENT_FIT_FILL: .stretch(box)
        default: .contain(box)
        }
    }

    /// Whether the widget owes its size to a missing image or a small placeholder, and will take the size of its image.
    /// GtkPicture allocates 16 application pixels to content without a size.
    private func isSizedByContent(_ picture: UnsafeMutablePointer<GtkWidget>, _ width: Int, _ height: Int) -> Bool {
        guard paintable.image == nil else { return false }
        var requested: (Int32, Int32) = (-1, -1)
        gtk_widget_get_size_request(picture, &requested.0, &requested.1)
        guard requested.0 < 0, requested.1 < 0 else { return false }
        let native = OpaquePointer(paintable.nativePaintablePointer)
        return width <= max(16, Int(gdk_paintable_get_intrinsic_width(native)))
            && height <= max(16, Int(gdk_paintable_get_intrinsic_height(native)))
    }
}
