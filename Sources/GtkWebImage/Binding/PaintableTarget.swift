internal import CWebImageGtk4
import WebImageCore

/// A GtkPicture, or something like it, that shows the library's paintable.
@MainActor
final class PaintableTarget: SlotTarget {
    private let paintable = ImagePaintable()
    /// The GtkPicture whose size counts; the widget itself, or a child of it.
    private let picture: WidgetReference
    var onOutgrown: (() -> Void)?

    init(picture: WidgetReference) {
        self.picture = picture
        paintable.content.styleWidget = { [weak picture] in picture?.pointer }
        paintable.content.onDraw = { [weak self] width, height in self?.drawn(width, height) }
    }

    var image: WebImage? { paintable.image }

    func show(_ image: WebImage) {
        attach()
        paintable.show(image)
    }

    func show(_ placeholder: Placeholder?) {
        attach()
        paintable.show(placeholder)
    }

    func decodeSize(in widget: UnsafeMutablePointer<GtkWidget>) -> DecodeSize? {
        guard let picture = picture.pointer else { return nil }
        let width = Int(gtk_widget_get_width(picture))
        let height = Int(gtk_widget_get_height(picture))
        guard width > 1, height > 1, !isSizedByContent(picture, width, height) else { return nil }
        let native = OpaquePointer(picture)
        guard gtk_picture_get_can_shrink(native) != 0 else { return .original }
        let scale = Int(gtk_widget_get_scale_factor(picture))
        let box = PixelSize(width: width * scale, height: height * scale)
        return switch gtk_picture_get_content_fit(native) {
        case GTK_CONTENT_FIT_COVER: .fill(box)
        case GTK_CONTENT_FIT_FILL: .stretch(box)
        default: .fit(box)
        }
    }

    /// Whether the widget is as small as it is only because it shows nothing yet, or a small placeholder: GtkPicture
    /// gives what has no size 16 application pixels. It will have the size of its picture.
    private func isSizedByContent(_ picture: UnsafeMutablePointer<GtkWidget>, _ width: Int, _ height: Int) -> Bool {
        guard paintable.image == nil else { return false }
        var requested: (Int32, Int32) = (-1, -1)
        gtk_widget_get_size_request(picture, &requested.0, &requested.1)
        guard requested.0 < 0, requested.1 < 0 else { return false }
        let native = OpaquePointer(paintable.nativePaintablePointer)
        return width <= max(16, Int(gdk_paintable_get_intrinsic_width(native)))
            && height <= max(16, Int(gdk_paintable_get_intrinsic_height(native)))
    }

    /// The app may have set another paintable since; setting the same one again does nothing.
    private func attach() {
        guard let picture = picture.pointer else { return }
        let native = OpaquePointer(paintable.nativePaintablePointer)
        if gtk_picture_get_paintable(OpaquePointer(picture)) != native {
            gtk_picture_set_paintable(OpaquePointer(picture), native)
        }
    }

    private func drawn(_ width: Double, _ height: Double) {
        guard let image, !image.isPartial, let picture = picture.pointer else { return }
        let scale = Double(gtk_widget_get_scale_factor(picture))
        // A tenth is not seen, and a resized window does not decode at every step.
        let isTooSmall =
            Double(image.decodedSize.width) * 1.1 < width * scale
            && Double(image.decodedSize.height) * 1.1 < height * scale
        if isTooSmall, image.decodedSize.width < image.naturalSizeBeforeTransform.width { onOutgrown?() }
    }
}
