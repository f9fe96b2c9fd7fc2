internal import CWebImageShims
import Synchronization
import WebImageCore

/// The bridge that makes `@MainActor` and `DispatchQueue.main` work while a GLib main loop runs.
///
/// Under g_application_run nothing drains libdispatch's main queue, so a `Task { @MainActor in }` would never run.
/// libdispatch signals an eventfd when there is work; a source of the default main context watches it and drains the
/// queue, as CoreFoundation's run loop does. A second drainer, such as swift-cross-ui's, does no harm.
///
/// The source is attached when the program is loaded (mainloop.c), so it also serves a task that starts before the app uses
/// anything else of the library. A program that never runs a GLib main loop does not notice it.
public enum MainActorBridge {
    private static let isChecked = Mutex(false)

    /// Makes sure that the bridge is part of the program, and logs what keeps it from working.
    ///
    /// An app that links the library has the bridge without this call. It is for a target that uses nothing else of the
    /// library. May be called from any thread, any number of times.
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
