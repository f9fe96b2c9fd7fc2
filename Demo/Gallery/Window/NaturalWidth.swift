internal import CWebImageAdwaita
internal import CWebImageGtk4

/// The key under which a widget keeps its natural width.
private let widthKey = "webimage-gallery-natural-width"

/// Creates an AdwBin whose natural width, in application pixels, does not depend on its child. Its least width is that of the child.
@MainActor
func bin(naturalWidth: Int, _ child: Widget? = nil) -> Widget {
    let bin = adw_bin_new()!
    adw_bin_set_child(cast(OpaquePointer(bin)), child)
    g_object_set_data(cast(OpaquePointer(bin)), widthKey, UnsafeMutableRawPointer(bitPattern: naturalWidth))
    let layout = gtk_custom_layout_new(
        { gtk_widget_get_first_child($0).map(gtk_widget_get_request_mode) ?? GTK_SIZE_REQUEST_CONSTANT_SIZE },
        { bin, orientation, size, minimum, natural, _, _ in
            guard let child = gtk_widget_get_first_child(bin) else { return }
            gtk_widget_measure(child, orientation, size, minimum, natural, nil, nil)
            guard orientation == GTK_ORIENTATION_HORIZONTAL, let minimum else { return }
            let width = Int(bitPattern: g_object_get_data(cast(OpaquePointer(bin!)), widthKey))
            natural?.pointee = max(minimum.pointee, Int32(width))
        },
        { bin, width, height, _ in
            guard let child = gtk_widget_get_first_child(bin) else { return }
            gtk_widget_allocate(child, width, height, -1, nil)
        }
    )
    gtk_widget_set_layout_manager(bin, layout)
    return bin
}
