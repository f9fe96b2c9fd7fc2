internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The toplevel windows of the app.
@MainActor
enum Toplevels {
    static var all: [UnsafeMutablePointer<GtkWidget>] {
        guard let windows = gtk_window_get_toplevels() else { return [] }
        return (0..<g_list_model_get_n_items(windows)).compactMap { index in
            guard let window = g_list_model_get_item(windows, index) else { return nil }
            // GTK's list keeps the window alive while the main thread is here.
            g_object_unref(window)
            return window.assumingMemoryBound(to: GtkWidget.self)
        }
    }

    /// Calls a closure once for each window: now for existing windows, later for new ones.
    static func follow(_ body: @escaping (UnsafeMutablePointer<GtkWidget>) -> Void) {
        guard let windows = gtk_window_get_toplevels() else { return }
        var known: [WidgetReference] = []
        let update = {
            known.removeAll { $0.pointer == nil }
            for window in all where !known.contains(where: { $0.pointer == window }) {
                known.append(WidgetReference(UnsafeMutableRawPointer(window)))
                body(window)
            }
        }
        UnsafeMutableRawPointer(windows).connect("items-changed", update)
        update()
    }
}

/// Tells the memory monitor when the last window of the app has left the screen.
@MainActor
enum WindowMonitor {
    private static var isStarted = false

    /// Starts following the windows. Later calls do nothing.
    static func start() {
        guard !isStarted else { return }
        isStarted = true
        Toplevels.follow { window in
            UnsafeMutableRawPointer(window).connect("unmap", phase: .afterDefault) {
                let isAnyMapped = Toplevels.all.contains { gtk_widget_get_mapped($0) != 0 }
                if !isAnyMapped { MemoryMonitor.shared.applicationDidHide() }
            }
        }
    }
}
