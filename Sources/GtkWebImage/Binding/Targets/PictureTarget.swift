internal import CWebImageGtk4
import WebImageCore

/// A GtkPicture that shows the library's paintable. If the widget also has images for other states, the paintable of the
/// current state is shown if it has an image, else this one, which belongs to the normal state.
@MainActor
class PictureTarget: SlotTarget {
    /// The GtkPicture.
    let picture: WidgetReference
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    /// The images of other states than the normal one. Most widgets have none.
    private var others: [ButtonImageState: ImagePaintable] = [:]
    /// The states of the widget except the normal one, in descending precedence.
    var states: [ButtonImageState] = [] {
        didSet { if states != oldValue { update() } }
    }
    /// The size of the GtkPicture in application pixels, regardless of its content; `nil` for the size of its image.
    var fixedSize: (width: Int, height: Int)? {
        didSet { applyFixedSize(replacing: oldValue) }
    }
    /// The size request of the app, while there is a fixed size.
    var ownRequest: (width: Int32, height: Int32) = (-1, -1)

    init(_ picture: WidgetReference) {
        self.picture = picture
        paintable.content.styleWidget = picture
    }

    var area: UnsafeMutablePointer<GtkWidget>? { picture.pointer }
    /// The widget whose `child` the GtkPicture is; `nil` for another place.
    var parent: UnsafeMutablePointer<GtkWidget>? { nil }
    var hasArea: Bool { true }
    /// `nil` once the app has replaced the child, as gtk_button_set_label does.
    var image: WebImage? { hasArea ? paintable.content.image : nil }

    func prepare() {}

    func attach() -> Bool {
        guard hasArea else { return false }
        update()
        return true
    }

    func changed() {
        if !others.isEmpty { update() }
    }

    /// Adds the paintable of another state.
    func add(_ other: ImagePaintable, for state: ButtonImageState) { others[state] = other }

    /// Sets the paintable of the current state, unless the GtkPicture already has it.
    func update() {
        guard let picture = picture.pointer else { return }
        let other = others.isEmpty ? nil : states.lazy.compactMap { self.others[$0] }.first { !$0.content.isEmpty }
        let (shown, current) = (other ?? paintable, gtk_picture_get_paintable(OpaquePointer(picture)))
        // A widget may have images for other states only, and otherwise a paintable of the app.
        guard shown.content.observer != nil || others.values.contains(where: { $0.nativePaintable == current })
        else { return }
        if current != shown.nativePaintable {
            gtk_picture_set_paintable(OpaquePointer(picture), shown.nativePaintable)
        }
    }

    func decodeSize(scale: Double) -> DecodeSize? {
        guard hasArea, let picture = area else { return nil }
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
            let (width, height) = (known.width ? box.width : Self.unlimited, known.height ? box.height : Self.unlimited)
            return .contain(PixelSize(width: width, height: height))
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
        if let parent, gtk_widget_get_parent(picture) == parent {
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
