// Images for plain GTK pointers, as C code and other bindings have them: swift run example-pointers URL
internal import CWebImageGtk4
import Foundation
import GtkWebImage

guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
    FileHandle.standardError.write(Data("Usage: example-pointers URL\n".utf8))
    exit(2)
}
guard gtk_init_check() != 0 else { fatalError("There is no display.") }

let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)!
@MainActor
func add(_ widget: UnsafeMutablePointer<GtkWidget>) {
    gtk_box_append(UnsafeMutableRawPointer(box).assumingMemoryBound(to: GtkBox.self), widget)
}

// A GtkPicture, a GtkButton and a GtkEntry icon take images through their pointers.
let picture = gtk_picture_new()!
gtk_widget_set_vexpand(picture, 1)
WidgetPointer(picture).setImage(with: url)
add(picture)

let button = gtk_button_new()!
gtk_widget_set_size_request(button, 96, 96)
gtk_widget_set_halign(button, GTK_ALIGN_CENTER)
WidgetPointer(button).setImage(with: ImageRequest(url: url, transformer: .circle()))
add(button)

let entry = gtk_entry_new()!
WidgetPointer(entry).setIcon(with: url, at: .primary)
add(entry)

// Any widget with a GdkPaintable takes an ImagePaintable.
let image = gtk_image_new()!
gtk_image_set_pixel_size(OpaquePointer(image), 64)
let paintable = ImagePaintable()
gtk_image_set_from_paintable(OpaquePointer(image), paintable.nativePaintable)
paintable.setImage(with: url)
add(image)

let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
gtk_window_set_default_size(window, 480, 640)
gtk_window_set_child(window, box)
gtk_window_present(window)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
