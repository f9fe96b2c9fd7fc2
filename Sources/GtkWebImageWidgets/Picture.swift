internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// A GtkPicture.
///
/// The wrappers of this module are for apps without a GTK binding. Each owns a reference to its widget. Use them on the main
/// thread, after `gtk_init`.
@preconcurrency @MainActor
public final class Picture: PictureBindable {
    private let widget = makeWidget(gtk_picture_new)

    /// Creates a GtkPicture without an image. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkPicture *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}

/// Makes the widget of a wrapper, with the reference that the wrapper owns. Swift may release a wrapper right after its pointer is
/// read, so the widget lives until a later turn of the main loop, and a parent can adopt it. Without GTK, the constructors would
/// crash without a message.
@MainActor
func makeWidget(_ make: () -> UnsafeMutablePointer<GtkWidget>?) -> GObjectBox {
    guard gtk_is_initialized() != 0, let widget = make() else {
        fatalError(
            "GTK is not initialized, so there can be no widgets. Call gtk_init first, or create them in the \"activate\" "
                + "handler of a GtkApplication."
        )
    }
    return GObjectBox(retaining: widget, releaseOn: .laterOnMain)
}
