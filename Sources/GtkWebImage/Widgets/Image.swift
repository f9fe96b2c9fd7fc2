internal import CWebImageGtk4

/// A `GtkImage`, which shows images at the size of icons, for apps that use no other GTK binding. Main thread only,
/// as GTK is.
@MainActor
public final class Image: WidgetBindable {
    private let owned: OwnedWidget

    /// Makes an empty image.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_image_new()))
    }

    /// The `GtkImage *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }

    /// Width and height in application pixels; -1: those of an icon. Default: -1.
    public var pixelSize: Int {
        get { Int(gtk_image_get_pixel_size(OpaquePointer(owned.pointer))) }
        set { gtk_image_set_pixel_size(OpaquePointer(owned.pointer), Int32(clamping: newValue)) }
    }
}

/// A GtkEntry, whose icons may be images, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class Entry: EntryBindable {
    private let owned: OwnedWidget

    /// Makes an empty entry.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_entry_new()))
    }

    /// The GtkEntry *.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
