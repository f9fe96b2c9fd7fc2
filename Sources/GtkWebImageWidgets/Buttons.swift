internal import CWebImageGtk4
public import GtkWebImage
import WebImageLinux

/// A GtkButton.
@preconcurrency @MainActor
public final class Button: ButtonBindable {
    private let widget = makeWidget(gtk_button_new)

    /// Creates a button without a child. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkButton *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}

/// A GtkCheckButton, which has a check mark.
@preconcurrency @MainActor
public final class CheckButton: ButtonBindable {
    private let widget = makeWidget(gtk_check_button_new)

    /// Creates a button without a child. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkCheckButton *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}

/// A GtkToggleButton, which stays pressed.
@preconcurrency @MainActor
public final class ToggleButton: ButtonBindable {
    private let widget = makeWidget(gtk_toggle_button_new)

    /// Creates a button without a child. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkToggleButton *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}

/// A GtkMenuButton, which opens a menu.
@preconcurrency @MainActor
public final class MenuButton: ButtonBindable {
    private let widget = makeWidget(gtk_menu_button_new)

    /// Creates a button without a child. Main thread, after `gtk_init`.
    public init() {}

    /// The `GtkMenuButton *`, valid while the wrapper lives.
    public var nativeWidgetPointer: UnsafeMutableRawPointer { widget.pointer }
}
