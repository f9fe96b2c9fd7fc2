internal import CWebImageShims
import Synchronization
import WebImageCore

/// The bridge that makes `@MainActor` and `DispatchQueue.main` work while a GLib main loop runs.
///
/// Under g_application_run, libdispatch's main queue is never drained, so a `Task { @MainActor in }` would not run. libdispatch
/// signals an eventfd when there is work. A source of the default main context watches the eventfd and drains the queue, as
/// CoreFoundation's run loop does. A second drainer, such as swift-cross-ui's, does no harm.
///
/// The source is attached when the program is loaded (mainloop.c), so tasks run before you call any other part of the library. The
/// source does nothing in a program that never runs a GLib main loop.
public enum MainActorBridge {
    private static let isChecked = Mutex(false)

    /// Links the bridge into the program, and logs conditions that prevent it from working.
    ///
    /// Call this only from a target that uses nothing else of the library; otherwise the bridge is already linked. You may call it
    /// on any thread, any number of times.
    public static func install() {
        let isFirst = isChecked.withLock { isChecked in
            defer { isChecked = true }
            return !isChecked
        }
        guard isFirst else { return }
        guard gwi_can_drain_main_queue() else {
            WebImageLog.mistake(
                "This version of libdispatch cannot be drained by GLib, so async code on the main actor never runs. "
                    + "Use the methods with a completion handler."
            )
            return
        }
        gwi_main_queue_on_misplaced {
            WebImageLog.mistake(
                "The default main context does not run on the main thread, so the main actor cannot run there. "
                    + "Make the main function synchronous."
            )
        }
    }
}
