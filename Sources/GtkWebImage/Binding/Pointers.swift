internal import CWebImageGtk4

/// The address of a widget, for code that calls GTK's C functions: ``WidgetPointer``, ``PicturePointer``, ``ButtonPointer`` or
/// ``EntryPointer``. None of them keeps a reference, so create it where you use it.
@preconcurrency @MainActor
public protocol WidgetPointing: WidgetBindable {
    /// Wraps a widget as GTK's C functions return it.
    init(_ pointer: UnsafeMutableRawPointer)
}

extension WidgetPointing {
    /// Wraps a widget whose C type Swift does not import.
    public init(_ pointer: OpaquePointer) { self.init(UnsafeMutableRawPointer(pointer)) }

    /// Unavailable. An object of a binding joins through its class.
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

/// The address of a widget of any kind that ``WidgetBindable`` names.
///
///     let image = gtk_image_new()!
///     gtk_box_append(box, image)
///     WidgetPointer(image).setImage(with: url)
@preconcurrency @MainActor
public struct WidgetPointer: WidgetPointing {
    /// The `GtkWidget *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// Wraps a widget as GTK's C functions return it.
    public init(_ pointer: UnsafeMutableRawPointer) { nativeWidgetPointer = pointer }
}

/// The address of a GtkPicture.
///
///     let view = gtk_picture_new()!
///     gtk_box_append(box, view)
///     PicturePointer(view).setImage(with: url)
@preconcurrency @MainActor
public struct PicturePointer: PictureBindable, WidgetPointing {
    /// The `GtkPicture *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// Wraps a widget as GTK's C functions return it.
    public init(_ pointer: UnsafeMutableRawPointer) { nativeWidgetPointer = pointer }
}

extension PicturePointer {
    /// How the image fits into the widget, which also determines the size at which it is decoded. Default:
    /// ``ContentFit/contain``.
    public var contentFit: ContentFit {
        get { ContentFit(native: gtk_picture_get_content_fit(OpaquePointer(nativeWidgetPointer)).rawValue) }
        nonmutating set {
            gtk_picture_set_content_fit(OpaquePointer(nativeWidgetPointer), GtkContentFit(newValue.native))
        }
    }
}

/// The address of a GtkButton.
///
///     let button = gtk_button_new()!
///     gtk_box_append(box, button)
///     ButtonPointer(button).setImage(with: url)
@preconcurrency @MainActor
public struct ButtonPointer: ButtonBindable, WidgetPointing {
    /// The `GtkButton *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// Wraps a widget as GTK's C functions return it.
    public init(_ pointer: UnsafeMutableRawPointer) { nativeWidgetPointer = pointer }
}

/// The address of a GtkEntry.
///
///     let entry = gtk_entry_new()!
///     gtk_box_append(box, entry)
///     EntryPointer(entry).setImage(with: url)
@preconcurrency @MainActor
public struct EntryPointer: EntryBindable, WidgetPointing {
    /// The `GtkEntry *`.
    public let nativeWidgetPointer: UnsafeMutableRawPointer

    /// Wraps a widget as GTK's C functions return it.
    public init(_ pointer: UnsafeMutableRawPointer) { nativeWidgetPointer = pointer }
}
