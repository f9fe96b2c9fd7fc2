internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The icon of all present and future windows of the app, which the window system shows in a dock or in a list of
/// windows. Wayland uses the icon of the desktop file instead.
///
///     ApplicationIcon().setImage(with: url)
///
/// A window with its own icon (``WidgetPointer``) also receives this icon; the one set last is shown.
@preconcurrency @MainActor
public struct ApplicationIcon: ImageBindable {
    /// Creates a reference to the icon of the app.
    public init() {}

    /// The binding of the icon.
    public var imageBinding: ImageBinding {
        // The list of windows lives as long as the process.
        ImageBinding(UnsafeMutableRawPointer(gtk_window_get_toplevels()), "application-icon", in: .application)
    }
}
