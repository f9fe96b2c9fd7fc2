/// A widget of any kind that WidgetBindable names, known by its address alone: the way in for code that calls GTK's
/// C functions.
///
///     WidgetPointer(gtk_image_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct WidgetPointer: WidgetBindable {
    /// The GtkWidget *.
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

/// A GtkPicture known by its address alone: the way in for code that calls GTK's C functions.
///
///     PicturePointer(gtk_picture_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct PicturePointer: PictureBindable {
    /// The GtkPicture *.
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

/// A GtkButton known by its address alone: the way in for code that calls GTK's C functions.
///
///     ButtonPointer(gtk_button_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct ButtonPointer: ButtonBindable {
    /// The GtkButton *.
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

/// A GtkEntry known by its address alone: the way in for code that calls GTK's C functions.
///
///     EntryPointer(gtk_entry_new()).setImage(with: url)
///
/// It keeps no reference; make it where it is used.
@MainActor
public struct EntryPointer: EntryBindable {
    /// The GtkEntry *.
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
