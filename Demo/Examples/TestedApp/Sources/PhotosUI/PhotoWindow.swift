import CGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

/// A window with a photo.
@MainActor
public final class PhotoWindow {
    /// The window, which GTK keeps until the user closes it.
    public let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
    /// The widget that shows the photo.
    public let picture = Picture()

    /// Presents the window and loads the photo.
    public init(_ url: URL) {
        gtk_window_set_default_size(window, 800, 600)
        gtk_window_set_child(window, picture.native())
        picture.errorPlaceholder = .icon("image-missing-symbolic")
        picture.setImage(with: url)
        gtk_window_present(window)
    }
}
