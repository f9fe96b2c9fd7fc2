internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The paintable of a bound widget. It shows placeholders, partial images, the image, the transitions between them, and
/// an indicator over them.
///
/// Its size is the logical size of the image as soon as it is known, regardless of the number of decoded pixels, so
/// that the widget is laid out once. Any consumer of GdkPaintable can draw it, and it can be bound without a widget.
///
///     let paintable = ImagePaintable()
///     paintable.setImage(with: url)          // drawn by a GtkDrawingArea, an AdwStatusPage, several widgets ...
///
/// Main thread only, like GTK.
@preconcurrency @MainActor
public final class ImagePaintable: ImageBindable {
    /// Owned by the GObject, which this object and the widgets that show it keep alive.
    let content: PaintableContent
    private let owned: GObjectBox

    /// Creates a paintable that shows nothing and has no size.
    public init() {
        content = PaintableContent()
        owned = GObjectBox(adopting: UnsafeMutableRawPointer(content.native))
    }

    /// The GdkPaintable. To keep it, take a reference (`g_object_ref`).
    public var nativePaintable: OpaquePointer { content.native }

    var pointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(content.native) }

    /// The binding of the images of the paintable.
    public var imageBinding: ImageBinding {
        ImageBinding(pointer, .image, in: .paintable(content))
    }
}
