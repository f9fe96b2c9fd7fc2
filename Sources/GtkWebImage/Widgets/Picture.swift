internal import CWebImageGtk4

/// A `GtkPicture` for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class Picture: PictureBindable {
    private let owned: OwnedWidget

    /// Makes an empty image.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_picture_new()))
    }

    /// The `GtkPicture *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }

    /// How the image is fitted into the widget; decides also at which size it is decoded. Default: contain.
    public var contentFit: ContentFit {
        get { ContentFit(gtk_picture_get_content_fit(native)) }
        set { gtk_picture_set_content_fit(native, newValue.native) }
    }

    private var native: OpaquePointer { OpaquePointer(owned.pointer) }
}
