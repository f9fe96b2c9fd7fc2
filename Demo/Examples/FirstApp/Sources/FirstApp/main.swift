import CGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

let app = gtk_application_new("org.example.FirstApp", GApplicationFlags(rawValue: 0))!

@MainActor
func showWindow() {
    let window = UnsafeMutableRawPointer(gtk_application_window_new(app)!).assumingMemoryBound(to: GtkWindow.self)
    gtk_window_set_default_size(window, 800, 600)
    let picture = Picture()
    gtk_window_set_child(window, picture.native())
    let url = URL(string: "https://picsum.photos/800/600")
    picture.setImage(with: url, placeholder: .icon("image-x-generic-symbolic")) { result in
        if case .failure(let error) = result { print(error) }
    }
    gtk_window_present(window)
}

// GTK calls back on the main thread, which a C callback has to tell Swift.
let activate: @convention(c) (gpointer?, gpointer?) -> Void = { _, _ in MainActor.assumeIsolated { showWindow() } }
let handler = unsafeBitCast(activate, to: GCallback.self)
g_signal_connect_data(app, "activate", handler, nil, nil, GConnectFlags(rawValue: 0))
exit(g_application_run(UnsafeMutableRawPointer(app).assumingMemoryBound(to: GApplication.self), 0, nil))
