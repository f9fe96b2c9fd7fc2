import CGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

let app = gtk_application_new("org.example.FirstApp", GApplicationFlags(rawValue: 0))!

// GTK calls back on the main thread, which a C callback has to tell Swift.
let activate: @convention(c) (gpointer?, gpointer?) -> Void = { _, _ in MainActor.assumeIsolated { showWindow() } }

@MainActor
func showWindow() {
    let picture = Picture()
    let window = UnsafeMutableRawPointer(gtk_application_window_new(app)!).assumingMemoryBound(to: GtkWindow.self)
    gtk_window_set_default_size(window, 800, 600)
    gtk_window_set_child(window, picture.nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self))
    gtk_window_present(window)
    picture.setImage(with: URL(string: "https://picsum.photos/800/600"), placeholder: .icon("image-x-generic-symbolic"))
}

g_signal_connect_data(
    app,
    "activate",
    unsafeBitCast(activate, to: GCallback.self),
    nil,
    nil,
    GConnectFlags(rawValue: 0)
)
exit(g_application_run(UnsafeMutableRawPointer(app).assumingMemoryBound(to: GApplication.self), 0, nil))
