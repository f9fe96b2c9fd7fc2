internal import CWebImageGtk4

/// A `GtkToggleButton`, which stays pressed, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class ToggleButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_toggle_button_new()))
    }

    /// The `GtkToggleButton *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
