internal import CWebImageGtk4

/// Accepts links, text and files dropped on a widget, and passes their address on.
@MainActor
func onDrop(of widget: Widget, _ body: @escaping (String) -> Void) {
    let text = g_type_from_name("gchararray")
    let target = gtk_drop_target_new(text, GDK_ACTION_COPY)!
    // A file manager offers a file as text, too, but as a path rather than a URI.
    var types = [gdk_file_list_get_type(), text]
    gtk_drop_target_set_gtypes(target, &types, gsize(types.count))
    typealias Callback =
        @convention(c) (
            UnsafeMutableRawPointer, UnsafePointer<GValue>, Double, Double, UnsafeMutableRawPointer
        ) -> gboolean
    let callback: Callback = { _, value, _, _, box in
        address(in: value).map { answer(box, $0) } ?? 0
    }
    connect(target, "drop", callback: callback) { (address: String) in
        body(address)
        return true
    }
    // An entry would insert the text at the pointer.
    gtk_event_controller_set_propagation_phase(target, GTK_PHASE_CAPTURE)
    gtk_widget_add_controller(widget, target)
}

/// Returns the first line of a text that is not a comment (RFC 2483), or the URI of the first file.
private nonisolated func address(in value: UnsafePointer<GValue>) -> String? {
    if value.pointee.g_type == g_type_from_name("gchararray") {
        let text = g_value_get_string(value).map { String(cString: $0) } ?? ""
        return text.split(whereSeparator: \.isNewline).first { !$0.hasPrefix("#") }.map(String.init)
    }
    guard let list = g_value_get_boxed(value), let files = gdk_file_list_get_files(OpaquePointer(list)) else {
        return nil
    }
    defer { g_slist_free(files) }
    guard let address = g_file_get_uri(OpaquePointer(files.pointee.data)) else { return nil }
    defer { g_free(address) }
    return String(cString: address)
}
