// Shows the image of a URL: swift run example-viewer https://...
internal import CWebImageGtk4
import Foundation
import GtkWebImage
import GtkWebImageWidgets

guard let url = CommandLine.arguments.dropFirst().first.flatMap(URL.init(string:)) else {
    FileHandle.standardError.write(Data("Usage: example-viewer URL\n".utf8))
    exit(2)
}
guard gtk_init_check() != 0 else { fatalError("There is no display.") }

let picture = Picture()
picture.imageIndicator = .progress
picture.imageTransition = .crossfade()
picture.errorPlaceholder = .icon("image-missing-symbolic", size: 64)
picture.imageBinding.retriesOnClick = true

let window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
gtk_window_set_title(window, url.lastPathComponent)
gtk_window_set_default_size(window, 800, 600)
gtk_window_set_child(window, picture.native())
gtk_window_present(window)

picture.setImage(with: ImageRequest(url: url, loading: .progressive)) { result in
    switch result {
    case .success(let response): gtk_window_set_title(window, "\(url.lastPathComponent), \(response.image.naturalSize)")
    case .failure(let error): gtk_window_set_title(window, error.reason)
    }
}

// GTK's main loop also serves callbacks and the main actor.
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
