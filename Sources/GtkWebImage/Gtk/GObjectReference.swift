internal import CWebImageGtk4
import WebImageLinux

/// A reference to a GObject that somebody owns.
///
/// @unchecked: reference counts are atomic; what else is done with the object is up to the main thread.
struct GObjectReference: @unchecked Sendable {
    private let object: UnsafeMutableRawPointer

    init(_ object: UnsafeMutableRawPointer) {
        self.object = object
    }

    init(_ object: OpaquePointer) {
        self.object = UnsafeMutableRawPointer(object)
    }

    func release() {
        g_object_unref(object)
    }

    /// Releases it now when the caller is on the main thread, else there, later: widgets and what renderers have seen
    /// must not be destroyed anywhere else.
    func releaseOnMainThread() {
        if MainLoopDispatcher.shared.isCurrent {
            release()
        } else {
            MainLoopDispatcher.shared.dispatch { release() }
        }
    }
}
