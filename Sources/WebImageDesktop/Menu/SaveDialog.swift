internal import CWebImageGLib
internal import CWebImageGtk4
import GtkWebImage
import WebImageCore
import WebImageLinux

/// Asks for the place of a file.
@MainActor
enum SaveDialog {
    static func show(for image: MenuImage, _ menu: ImageMenu, above widget: UnsafeMutablePointer<GtkWidget>) {
        let root = gtk_widget_get_ancestor(widget, gtk_window_get_type())
        let window = root.map { UnsafeMutableRawPointer($0).assumingMemoryBound(to: GtkWindow.self) }
        let title = menu.save.filter { $0 != "_" && $0 != "…" }
        let dialog = gwi_save_dialog_new(window, title, image.fileName)!
        UnsafeMutableRawPointer(dialog).connectWithArgument("response") { response in
            let isAccepted = Int32(truncatingIfNeeded: response) == GTK_RESPONSE_ACCEPT.rawValue
            let file = isAccepted ? gwi_save_dialog_get_file(dialog) : nil
            gtk_native_dialog_destroy(dialog)
            g_object_unref(dialog)
            guard let file else { return }
            let chosen = GObjectBox(adopting: UnsafeMutableRawPointer(file), releaseOn: .any)
            menu.run { () async throws(ImageError) in try await image.write(to: chosen) }
        }
        gtk_native_dialog_show(dialog)
    }
}

extension ImageMenu {
    /// Runs an action that may fail.
    func run(_ action: @escaping @MainActor () async throws(ImageError) -> Void) {
        Task {
            do throws(ImageError) { try await action() } catch {
                if let onFailure { onFailure(error) } else { WebImageLog.error("\(error)") }
            }
        }
    }
}

/// A call of an asynchronous function of GIO.
final class FileCall: Sendable {
    typealias Finish =
        @Sendable (
            _ source: OpaquePointer?, _ result: OpaquePointer?,
            _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>
        ) -> Void

    private let finish: Finish
    private let continuation: CheckedContinuation<String?, Never>

    private init(_ finish: @escaping Finish, _ continuation: CheckedContinuation<String?, Never>) {
        (self.finish, self.continuation) = (finish, continuation)
    }

    /// - Returns: The message of the error; `nil` after a success.
    @MainActor
    static func run(
        _ start: (_ callback: @escaping GAsyncReadyCallback, _ context: gpointer) -> Void,
        finish: @escaping Finish
    ) async -> String? {
        await withCheckedContinuation { continuation in
            let callback: GAsyncReadyCallback = { source, result, context in
                let call = Unmanaged<FileCall>.fromOpaque(context!).takeRetainedValue()
                var error: UnsafeMutablePointer<GError>?
                call.finish(source.map { OpaquePointer($0) }, result, &error)
                let message = error.map { String(cString: $0.pointee.message) }
                g_clear_error(&error)
                call.continuation.resume(returning: message)
            }
            start(callback, Unmanaged.passRetained(FileCall(finish, continuation)).toOpaque())
        }
    }
}
