/// A widget of any kind that ``WidgetBindable`` names, known by its address alone: the way in for code that calls GTK's
/// C functions.
///
///     WidgetPointer(gtk_image_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct WidgetPointer: WidgetBindable {
    /// The `GtkWidget *`.
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
