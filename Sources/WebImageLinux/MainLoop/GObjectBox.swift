internal import CWebImageGLib
import Synchronization

/// An owned reference to a GObject, released with the box.
///
/// `@unchecked`: GObject counts references atomically. Callers use the thread that the object requires.
package final class GObjectBox: @unchecked Sendable {
    /// The thread on which the last reference may be dropped.
    package enum ReleaseThread: Sendable {
        /// Widgets, and objects that a renderer has drawn.
        case main
        /// Widgets that may not have a parent yet: the main thread, in a later turn of the main loop.
        case laterOnMain
        /// Plain data that never reached a widget.
        case any
    }

    package let pointer: UnsafeMutableRawPointer
    private let needsMainThread: Atomic<Bool>
    private let isReleasedLater: Bool

    package init(adopting object: UnsafeMutableRawPointer, releaseOn thread: ReleaseThread = .main) {
        pointer = object
        needsMainThread = Atomic(thread != .any)
        isReleasedLater = thread == .laterOnMain
    }

    /// Adds a reference, and sinks a floating one, such as the reference to a new widget.
    package convenience init(retaining object: UnsafeMutableRawPointer, releaseOn thread: ReleaseThread = .main) {
        g_object_ref_sink(object)
        self.init(adopting: object, releaseOn: thread)
    }

    deinit {
        guard needsMainThread.load(ordering: .acquiring), isReleasedLater || !MainLoopDispatcher.shared.isCurrent else {
            return g_object_unref(pointer)
        }
        let orphan = Orphan(pointer: pointer)
        MainLoopDispatcher.shared.dispatch { orphan.release() }
    }

    package var opaquePointer: OpaquePointer { OpaquePointer(pointer) }

    /// Requires the main thread for the release from now on, for example of a texture that is about to be drawn.
    package func requireMainThread() {
        needsMainThread.store(true, ordering: .releasing)
    }
}

/// A reference that is released on the main thread.
///
/// `@unchecked`: only the dispatched closure uses the object.
private struct Orphan: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    func release() {
        g_object_unref(pointer)
    }
}
