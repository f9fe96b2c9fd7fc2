internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// A GtkImage, which shows images at icon size.
@preconcurrency @MainActor
public final class Image: WidgetBindable {
    private let widget = makeWidget(gtk_image_new)

    /// Creates a widget without an image. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkImage *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }

    /// The width and height of the image in application pixels; -1 for the size of an icon. Default: -1.
    public var pixelSize: Int {
        get { Int(gtk_image_get_pixel_size(OpaquePointer(widget.pointer))) }
        set { gtk_image_set_pixel_size(OpaquePointer(widget.pointer), Int32(clamping: newValue)) }
    }
}
