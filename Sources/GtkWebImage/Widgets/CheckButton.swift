internal import CWebImageGtk4

/// A `GtkCheckButton`, which is checked, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class CheckButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_check_button_new()))
    }

    /// The `GtkCheckButton *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
