internal import CWebImageGLib
internal import CWebImageShims
import Glibc
import Synchronization
import WebImageCore

/// The bridge that makes `@MainActor` and `DispatchQueue.main` work while a GLib main loop runs.
///
/// Under g_application_run nothing drains libdispatch's main queue, so a `Task { @MainActor in }` would never run.
/// libdispatch signals an eventfd when there is work; a source of the default main context watches it and drains the
/// queue, as CoreFoundation's run loop does. A second drainer, such as swift-cross-ui's, does no harm.
package enum MainActorBridge {
    private static let isInstalled = Mutex(false)

    /// Installs the bridge into the default main context on the first call. May be called from any thread.
    package static func install() {
        let isFirst = isInstalled.withLock { isInstalled in
            defer { isInstalled = true }
            return !isInstalled
        }
        guard isFirst else { return }
        let eventDescriptor = gwi_main_queue_handle()
        guard eventDescriptor >= 0 else {
            WebImageLog.error(
                "This version of libdispatch cannot be drained by GLib, so async code on the main actor never runs. "
                    + "Use the methods with a completion handler."
            )
            return
        }
        let source = g_unix_fd_source_new(eventDescriptor, G_IO_IN)!
        // The priority is lower than that of input events (0) and higher than that of layout (110), because this is the
        // app's own work, like that of a signal handler.
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
                "The default main context does not run on the main thread, so the main actor cannot run there. "
                    + "Make the main function synchronous."
            )
            return gboolean(0)
        }
        // The counter is read first: work that is added while the queue is drained signals again.
        var counter: UInt64 = 0
        _ = read(descriptor, &counter, 8)
        gwi_main_queue_drain()
        return gboolean(1)
    }
}
