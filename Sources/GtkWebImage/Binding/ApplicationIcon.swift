internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The icon of all present and future windows of the app, which the window system shows in a dock or in a list of
/// windows. Wayland takes icons from the desktop file instead.
///
///     ApplicationIcon().setImage(with: url)
///
/// A window with an icon of its own (``WidgetPointer``) receives this icon, too; the last one set is shown.
@preconcurrency @MainActor
public struct ApplicationIcon: ImageBindable {
    /// Creates a reference to the icon of the app.
    public init() {}

    /// The place of the icon.
    public var imageBinding: ImageBinding {
        // The list of windows lives as long as the process.
        ImageBinding(UnsafeMutableRawPointer(gtk_window_get_toplevels()), "application-icon", in: .application)
    }
}
