internal import CWebImageGLib
internal import CWebImageShims
import Glibc
import Synchronization
import WebImageCore

/// Makes @MainActor and DispatchQueue.main work while a GLib main loop runs.
///
/// Nobody drains the main queue of libdispatch under g_application_run, so a Task { @MainActor in } would never
/// run. libdispatch signals an eventfd when there is work; a source of the main context waits for it and drains the
/// queue. This is the way of CoreFoundation's run loop. A second drainer, such as swift-cross-ui's, does no harm.
package enum MainActorBridge {
    private static let isInstalled = Mutex(false)

    /// Installs the bridge into the default main context, once. From any thread.
    package static func install() {
        let isFirst = isInstalled.withLock { isInstalled in
            defer { isInstalled = true }
            return !isInstalled
        }
        guard isFirst else { return }
        let eventDescriptor = gwi_main_queue_handle()
        guard eventDescriptor >= 0 else {
            WebImageLog.error(
                "This libdispatch cannot be drained by GLib: async code on the main actor waits for ever; "
                    + "use the forms with a completion closure."
            )
            return
        }
        let source = g_unix_fd_source_new(eventDescriptor, G_IO_IN)!
        // Behind input events (0), before resizing (110): work of the app, as much as a signal handler is.
        g_source_set_priority(source, 105)
        g_source_set_static_name(source, "GtkWebImage main actor")
        let drain: GUnixFDSourceFunc = { descriptor, _, _ in MainActorBridge.drain(descriptor) }
        g_source_set_callback(source, unsafeBitCast(drain, to: GSourceFunc.self), nil, nil)
        g_source_attach(source, nil)
        g_source_unref(source)
    }

    private static func drain(_ descriptor: Int32) -> gboolean {
        guard gwi_is_main_thread() != 0 else {
            WebImageLog.error(
                "The default main context runs on a thread other than the main one (an async main function?): "
                    + "the main actor cannot be served from there."
            )
            return gboolean(0)
        }
        // First the counter, then the queue: work that comes while the queue is drained signals again.
        var counter: UInt64 = 0
        _ = read(descriptor, &counter, 8)
        gwi_main_queue_drain()
        return gboolean(1)
    }
}
