internal import CWebImageGLib
internal import CWebImageGtk4
package import FoundationEssentials
package import WebImageCore
import WebImageLinux

/// Asks for the place of a file, and writes the file there. Other programs see the old or the new one.
/// - Parameters:
///   - name: The proposed name.
///   - title: The title of the dialog. Default: GTK's.
///   - widget: A GtkWidget of the window that asks.
///   - contents: Called if the user chooses a place.
///   - onFailure: Called with the error if the file cannot be written, and not if the user cancels.
@MainActor
package func saveFile(
    named name: String,
    title: String? = nil,
    above widget: UnsafeMutableRawPointer,
    contents: @escaping @MainActor () async throws(ImageError) -> Data,
    onFailure: @escaping @MainActor (ImageError) -> Void
) {
    let root = gtk_widget_get_ancestor(widget.assumingMemoryBound(to: GtkWidget.self), gtk_window_get_type())
    let window = root.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: GtkWindow.self) }
    let dialog = gwi_save_dialog_new(window, title, name)!
    UnsafeMutableRawPointer(dialog).connectWithArgument("response") { response in
        let isAccepted = Int32(truncatingIfNeeded: response) == GTK_RESPONSE_ACCEPT.rawValue
        let file = isAccepted ? gwi_save_dialog_get_file(dialog) : nil
        gtk_native_dialog_destroy(dialog)
        g_object_unref(dialog)
        guard let file else { return }
        let chosen = GObjectBox(adopting: UnsafeMutableRawPointer(file), releaseOn: .any)
        Task {
            do throws(ImageError) { try await write(contents(), to: chosen) } catch { onFailure(error) }
        }
    }
    gtk_native_dialog_show(dialog)
}

@MainActor
private func write(_ data: Data, to file: GObjectBox) async throws(ImageError) {
    let bytes = data.withUnsafeBytes { g_bytes_new($0.baseAddress, gsize($0.count)) }
    defer { g_bytes_unref(bytes) }
    let message = await FileCall.run { callback, context in
        let flags = GFileCreateFlags(rawValue: 0)
        g_file_replace_contents_bytes_async(file.opaquePointer, bytes, nil, 0, flags, nil, callback, context)
    } finish: { source, result, error in
        g_file_replace_contents_finish(source, result, nil, error)
    }
    guard let message else { return }
    let reason = "The file could not be written (\(message))"
    throw ImageError(.notStored, url: nil, reason: reason, remedy: "Choose another place.")
}
