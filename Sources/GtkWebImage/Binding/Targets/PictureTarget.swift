internal import CWebImageGtk4
import WebImageCore

/// A GtkPicture, perhaps the child of another widget, that shows the library's paintable in one state of its widget.
@MainActor
final class PictureTarget: SlotTarget {
    private let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let presenter: PicturePresenter

    init(_ presenter: PicturePresenter, _ state: ButtonImageState) {
        self.presenter = presenter
        presenter.add(paintable, for: state)
        paintable.content.styleWidget = presenter.picture
    }

    var area: UnsafeMutablePointer<GtkWidget>? { presenter.picture.pointer }

    var hasArea: Bool { presenter.isInPlace }
    /// `nil` once the app has replaced the child, as gtk_button_set_label does.
    var image: WebImage? { presenter.isInPlace ? paintable.content.image : nil }

    func prepare() { presenter.put() }

    func attach() -> Bool {
        guard presenter.isInPlace else { return false }
        presenter.update()
        return true
    }

    func changed() {
        if presenter.hasStates { presenter.update() }
    }

    var fixedSize: (width: Int, height: Int)? {
        get { presenter.fixedSize }
        set { if paintable.content.hasSize { presenter.fixedSize = newValue } else { reportFixedSize(newValue) } }
    }

    func decodeSize(scale: Double) -> DecodeSize? {
        guard presenter.isInPlace, let picture = area else { return nil }
        let width = Int(gtk_widget_get_width(picture))
        let height = Int(gtk_widget_get_height(picture))
        let placeholder = placeholderSize(in: picture)
        let known = (width: width != placeholder.width, height: height != placeholder.height)
        guard width > 1, height > 1, known.width || known.height else { return nil }
        let native = OpaquePointer(picture)
        guard gtk_picture_get_can_shrink(native) != 0 else { return .original }
        let box = PixelSize(width: width, height: height).scaled(by: scale)
        switch gtk_picture_get_content_fit(native) {
        case GTK_CONTENT_FIT_COVER: return .cover(box)
        case GTK_CONTENT_FIT_FILL where known.width && known.height: return .stretch(box)
        default:
            // A side of unknown length grows with the image.
            return .contain(
                PixelSize(
                    width: known.width ? box.width : Self.unlimited,
                    height: known.height ? box.height : Self.unlimited
                )
            )
        }
    }

    /// A length above the sides of all screens.
    private static let unlimited = 1 << 16

    /// The sides that the widget has only because its image is missing or it shows a placeholder; `nil` for a side that
    /// it will keep. GtkPicture uses 16 application pixels for content without a size.
    private func placeholderSize(in picture: UnsafeMutablePointer<GtkWidget>) -> (width: Int?, height: Int?) {
        guard paintable.content.image == nil else { return (nil, nil) }
        var (requested, outer): ((Int32, Int32), (Int32, Int32)) = ((-1, -1), (-1, -1))
        gtk_widget_get_size_request(picture, &requested.0, &requested.1)
        // The request of the parent counts, too, if there is nothing between them.
        if let parent = presenter.parent?.pointer, gtk_widget_get_parent(picture) == parent {
            gtk_widget_get_size_request(parent, &outer.0, &outer.1)
        }
        requested = (max(requested.0, outer.0), max(requested.1, outer.1))
        guard requested.0 < 0 || requested.1 < 0 else { return (nil, nil) }
        let size = paintable.content.size
        let (width, height) = (Int(bounded: size.width.rounded()), Int(bounded: size.height.rounded()))
        return (
            requested.0 < 0 ? (width > 0 ? width : 16) : nil, requested.1 < 0 ? (height > 0 ? height : 16) : nil
        )
    }
}
