import CGtk4
import Foundation
import PhotosUI

gtk_init()
let photo = PhotoWindow(URL(string: "https://picsum.photos/800/600")!)
while g_list_model_get_n_items(gtk_window_get_toplevels()) > 0 { g_main_context_iteration(nil, 1) }
