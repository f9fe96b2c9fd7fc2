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
        let placeholder = placeholderSize(in: picture)
        let sized = (width: width > placeholder.width, height: height > placeholder.height)
        guard width > 1, height > 1, sized.width || sized.height else { return nil }
        let native = OpaquePointer(picture)
        guard gtk_picture_get_can_shrink(native) != 0 else { return .original }
        var box = picture.deviceSize
        switch gtk_picture_get_content_fit(native) {
        case GTK_CONTENT_FIT_COVER: return .cover(box)
        case GTK_CONTENT_FIT_FILL: return .stretch(box)
        default:
            // The other side of the box grows with the image.
            if !sized.width { box = PixelSize(width: Self.unlimited, height: box.height) }
            if !sized.height { box = PixelSize(width: box.width, height: Self.unlimited) }
            return .contain(box)
        }
    }

    /// Longer than the sides of screens.
    private static let unlimited = 1 << 16

    /// The size up to which the widget owes its size to a missing image or a small placeholder, and will take the size of its
    /// image. GtkPicture allocates 16 application pixels to content without a size.
    private func placeholderSize(in picture: UnsafeMutablePointer<GtkWidget>) -> (width: Int, height: Int) {
        guard paintable.image == nil else { return (0, 0) }
        var requested: (Int32, Int32) = (-1, -1)
        gtk_widget_get_size_request(picture, &requested.0, &requested.1)
        guard requested.0 < 0, requested.1 < 0 else { return (0, 0) }
        let native = OpaquePointer(paintable.nativePaintablePointer)
        return (
            max(16, Int(gdk_paintable_get_intrinsic_width(native))),
            max(16, Int(gdk_paintable_get_intrinsic_height(native)))
        )
    }
}
