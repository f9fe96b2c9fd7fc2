// A grid of images with recycled cells and prefetching: swift run example-list FILE, where FILE has a URL on each line.
internal import CWebImageGtk4
import Foundation
import GtkWebImage

guard let file = CommandLine.arguments.dropFirst().first, let text = try? String(contentsOfFile: file, encoding: .utf8)
else {
    FileHandle.standardError.write(Data("Usage: example-list FILE, with a URL on each line\n".utf8))
    exit(2)
}
guard gtk_init_check() != 0 else { fatalError("There is no display.") }

// The model belongs to the app, which may sort and filter it; the factory creates, binds and unbinds the image cells.
let model = gtk_string_list_new(nil)!
for line in text.split(whereSeparator: \.isNewline) { gtk_string_list_append(model, String(line)) }
@MainActor
func url(_ item: OpaquePointer) -> URL? {
    URL(string: String(cString: gtk_string_object_get_string(item)))
}
let factory = ImageListFactory(items: OpaquePointer.init, width: 160, height: 120, request: url)
let grid = gtk_grid_view_new(gtk_no_selection_new(model), nil)!
gtk_grid_view_set_factory(OpaquePointer(grid), factory.nativeFactory)
gtk_grid_view_set_max_columns(OpaquePointer(grid), 8)

let scrolled = gtk_scrolled_window_new()!
gtk_scrolled_window_set_child(OpaquePointer(scrolled), grid)
let prefetcher = ListPrefetcher(view: WidgetPointer(grid), items: OpaquePointer.init, request: url)

let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
gtk_window_set_default_size(window, 900, 700)
gtk_window_set_child(window, scrolled)
gtk_window_present(window)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
withExtendedLifetime((factory, prefetcher)) {}
