import Adwaita
import AdwaitaView
import CGtk4
import Foundation
import GtkBackend
import GtkWebImage
import SwiftCrossUI
import SwiftCrossUIView

// The sample views of Demo/Examples, in a window.

@MainActor
func runApp() {
    let url = URL(fileURLWithPath: CommandLine.arguments[1])
    guard gtk_init_check() != 0 else { fatalError("GTK finds no display") }
    let window = gtk_window_new()!
    let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6)!
    gtk_window_set_child(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self), box)

    func show(_ pointer: UnsafeMutableRawPointer, _ width: Double, _ height: Double) {
        let widget = pointer.assumingMemoryBound(to: GtkWidget.self)
        gtk_widget_set_size_request(widget, gint(width), gint(height))
        gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), widget)
    }

    let (picture, size) = render(
        WebImageView(url, placeholder: .icon("image-missing"), transition: .crossfade()),
        in: ProposedViewSize(120, nil)
    )
    show(picture.nativeWidgetPointer, size.width, size.height)
    let storage = WebPicture(url, placeholder: .icon("image-missing")).storage()!
    show(UnsafeMutableRawPointer(storage.opaquePointer!), 120, 90)
    gtk_window_present(UnsafeMutableRawPointer(window).assumingMemoryBound(to: GtkWindow.self))

    let other = WidgetPointer(storage.opaquePointer!)
    while picture.currentImage == nil || other.currentImage == nil {
        for state in [picture.imageProgress.state, other.imageProgress.state] {
            if case .failed(let error) = state { fatalError("\(error)") }
        }
        g_main_context_iteration(nil, 1)
    }
}

MainActor.assumeIsolated { runApp() }
