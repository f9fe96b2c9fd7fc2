internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// A GtkPicture.
///
/// The wrappers of this module are for apps without a GTK binding. Each owns one reference to its widget. All of it runs
/// on the main thread, after `gtk_init`.
@preconcurrency @MainActor
public final class Picture: PictureBindable {
    private let widget = makeWidget(gtk_picture_new)

    /// Creates a GtkPicture without an image. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkPicture *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}

/// Makes the widget of a wrapper and takes the reference that the wrapper owns. Swift may release a wrapper right after its pointer was
/// read, so the widget stays for the call that gives it a parent. Without GTK the constructors end in a segmentation fault, which says
/// nothing.
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
