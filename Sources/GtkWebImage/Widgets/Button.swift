internal import CWebImageGtk4

/// A `GtkButton` for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class Button: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_button_new()))
    }

    /// The `GtkButton *`.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
