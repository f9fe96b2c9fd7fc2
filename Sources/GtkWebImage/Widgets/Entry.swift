internal import CWebImageGtk4

/// A `GtkEntry`, whose icons may be pictures, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class Entry: EntryBindable {
    private let owned: OwnedWidget

    /// Makes an empty entry.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_entry_new()))
    }

    /// The `GtkEntry *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
