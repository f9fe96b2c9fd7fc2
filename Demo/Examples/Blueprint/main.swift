// An address bar above an image, written in Blueprint: swift run example-blueprint URL
// After a change of window.blp: blueprint-compiler compile --output window.ui window.blp, with version 0.8 or later.
import CGtk4
import Foundation
import GtkWebImageBuilder

guard let url = CommandLine.arguments.dropFirst().first else {
    FileHandle.standardError.write(Data("Usage: example-blueprint URL\n".utf8))
    exit(2)
}
guard gtk_init_check() != 0 else { fatalError("There is no display.") }

// GtkBuilder knows the widget from here on.
WebPicture.register()
let builder = gtk_builder_new_from_string(String(decoding: PackageResources.window_ui, as: UTF8.self), -1)
gtk_editable_set_text(OpaquePointer(gtk_builder_get_object(builder, "address")), url)
let window = UnsafeMutableRawPointer(gtk_builder_get_object(builder, "window")!).assumingMemoryBound(to: GtkWindow.self)
gtk_window_present(window)
g_object_unref(UnsafeMutableRawPointer(builder))
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
