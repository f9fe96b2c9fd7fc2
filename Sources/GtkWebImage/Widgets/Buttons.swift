internal import CWebImageGtk4

/// A GtkButton for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class Button: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_button_new()))
    }

    /// The GtkButton *.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}

/// A GtkCheckButton, which is checked, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class CheckButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_check_button_new()))
    }

    /// The GtkCheckButton *.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}

/// A GtkToggleButton, which stays pressed, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class ToggleButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_toggle_button_new()))
    }

    /// The GtkToggleButton *.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}

/// A GtkMenuButton, which opens a menu, for apps that use no other GTK binding. Main thread only, as GTK is.
@MainActor
public final class MenuButton: ButtonBindable {
    private let owned: OwnedWidget

    /// Makes an empty button.
    public init() {
        owned = OwnedWidget(UnsafeMutableRawPointer(gtk_menu_button_new()))
    }

    /// The GtkMenuButton *.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { owned.pointer }
}
