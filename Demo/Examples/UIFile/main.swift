// A list of images whose window and rows are in a .ui file: swift run example-ui-file URL...
import CGtk4
import Foundation
import GtkWebImageBuilder

let urls = CommandLine.arguments.dropFirst()
guard !urls.isEmpty else {
    FileHandle.standardError.write(Data("Usage: example-ui-file URL...\n".utf8))
    exit(2)
}
guard gtk_init_check() != 0 else { fatalError("There is no display.") }

// GtkBuilder knows the widget from here on.
WebPicture.register()
let builder = gtk_builder_new_from_string(String(decoding: PackageResources.window_ui, as: UTF8.self), -1)
for url in urls { gtk_string_list_append(OpaquePointer(gtk_builder_get_object(builder, "urls")), url) }
let window = UnsafeMutableRawPointer(gtk_builder_get_object(builder, "window")!).assumingMemoryBound(to: GtkWindow.self)
gtk_window_present(window)
g_object_unref(UnsafeMutableRawPointer(builder))
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
