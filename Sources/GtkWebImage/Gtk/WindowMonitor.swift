internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// Tells the memory monitor when the last window of the app has left the screen.
@MainActor
enum WindowMonitor {
    private static var isStarted = false

    /// Follows the windows from now on. Later calls do nothing.
    static func start() {
        guard !isStarted, let windows = gtk_window_get_toplevels() else { return }
        isStarted = true
        let changed: @convention(c) (OpaquePointer?, guint, guint, guint, gpointer?) -> Void = {
            list,
            first,
            _,
            added,
            _ in
            MainActor.assumeIsolated {
                for index in first..<first + added { WindowMonitor.follow(list, index) }
            }
        }
        let callback = unsafeBitCast(changed, to: GCallback.self)
        g_signal_connect_data(UnsafeMutableRawPointer(windows), "items-changed", callback, nil, nil, G_CONNECT_DEFAULT)
        for index in 0..<g_list_model_get_n_items(windows) { follow(windows, index) }
    }

    private static func follow(_ windows: OpaquePointer?, _ index: guint) {
        guard let window = g_list_model_get_item(windows, index) else { return }
        defer { g_object_unref(window) }
        let unmapped: @convention(c) (gpointer?, gpointer?) -> Void = { _, _ in
            MainActor.assumeIsolated { WindowMonitor.windowUnmapped() }
        }
        g_signal_connect_data(window, "unmap", unsafeBitCast(unmapped, to: GCallback.self), nil, nil, G_CONNECT_AFTER)
    }

    private static func windowUnmapped() {
        guard let windows = gtk_window_get_toplevels() else { return }
        let isAnyMapped = (0..<g_list_model_get_n_items(windows)).contains { index in
            guard let window = g_list_model_get_item(windows, index) else { return false }
            defer { g_object_unref(window) }
            return gtk_widget_get_mapped(window.assumingMemoryBound(to: GtkWidget.self)) != 0
        }
        if !isAnyMapped { MemoryMonitor.shared.tell(.hidden) }
    }
}
