/// A `GtkPicture` known by its address alone: the way in for code that calls GTK's C functions.
///
///     PicturePointer(gtk_picture_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct PicturePointer: PictureBindable {
    /// The `GtkPicture *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// A widget as GTK's C functions hand it out.
    public init(_ pointer: UnsafeMutableRawPointer) {
        nativeWidgetPointer = pointer
    }

    /// A widget whose C type Swift does not see.
    public init(_ pointer: OpaquePointer) {
        nativeWidgetPointer = UnsafeMutableRawPointer(pointer)
    }
}
