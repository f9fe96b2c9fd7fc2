internal import CWebImageGtk4

/// A `GtkMenuButton`, which opens a menu, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class MenuButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_menu_button_new()))
    }

    /// The `GtkMenuButton *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
