internal import CWebImageGtk4
import WebImageLinux

/// Asks for the name of a file and writes a text to it.
/// - Parameters:
///   - name: The proposed name.
///   - widget: A widget of the window that asks.
///   - onFailure: Called with the reason if the file cannot be written, and not if the user cancels.
@MainActor
func saveText(_ text: String, as name: String, over widget: Widget, onFailure: @escaping @MainActor (String) -> Void) {
    let window = gtk_widget_get_ancestor(widget, gtk_window_get_type()).map(UnsafeMutableRawPointer.init)
    let dialog = gwi_save_dialog_new(window?.assumingMemoryBound(to: GtkWindow.self), nil, name)!
    UnsafeMutableRawPointer(dialog).connectWithArgument("response") { response in
        defer { g_object_unref(dialog) }
        guard Int32(truncatingIfNeeded: response) == GTK_RESPONSE_ACCEPT.rawValue else { return }
        let file = GObjectBox(adopting: UnsafeMutableRawPointer(gwi_save_dialog_get_file(dialog)), releaseOn: .any)
        Task {
            let reason = await Task.detached { write(text, to: file) }.value
            if let reason { onFailure(reason) }
        }
    }
    gtk_native_dialog_show(dialog)
}

/// Writes a file. Returns the reason if this fails.
private func write(_ text: String, to file: GObjectBox) -> String? {
    var error: UnsafeMutablePointer<GError>?
    let (count, flags) = (gsize(text.utf8.count), GFileCreateFlags(rawValue: 0))
    let isWritten = g_file_replace_contents(file.opaquePointer, text, count, nil, 0, flags, nil, nil, &error)
    defer { g_clear_error(&error) }
    return isWritten != 0 ? nil : error.map { String(cString: $0.pointee.message) }
}
