internal import CWebImageGtk4

/// The address of a widget, for code that calls GTK's C functions. It keeps no reference, so create it where you use it.
///
///     let view = gtk_picture_new()!
///     gtk_box_append(box, view)
///     WidgetPointer(view).setImage(with: url)
@preconcurrency @MainActor
public struct WidgetPointer: PictureBindable, ButtonBindable, EntryBindable {
    /// The `GtkWidget *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// Wraps a widget as returned by GTK's C functions.
    public init(_ pointer: UnsafeMutableRawPointer) { nativeWidgetPointer = pointer }

    /// Wraps a widget whose C type Swift does not import.
    public init(_ pointer: OpaquePointer) { self.init(UnsafeMutableRawPointer(pointer)) }

    /// Unavailable. Conform the class of an object to one of the protocols instead.
    @available(
        *,
        unavailable,
        message: """
            conform the class to PictureBindable, ButtonBindable, EntryBindable or WidgetBindable in one line and call \
            setImage on the object, or pass its pointer
            """
    )
    public init(_ widget: some AnyObject) { fatalError("An object is no pointer") }
}
