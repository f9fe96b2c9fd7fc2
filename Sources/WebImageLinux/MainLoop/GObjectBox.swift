internal import CWebImageGLib
import Synchronization

/// An owned reference to a GObject, released when the box goes away.
///
/// @unchecked: GObject counts references atomically; callers keep to the thread that the object itself demands.
package final class GObjectBox: @unchecked Sendable {
    /// The thread that the last reference may be dropped on.
    package enum ReleaseThread: Sendable {
        /// Widgets, and everything that a renderer has drawn.
        case main
        /// Widgets that may have no parent yet: on the main thread, in a later turn of the main loop.
        case laterOnMain
        /// Plain data that never reached a widget.
        case any
    }

    package let pointer: UnsafeMutableRawPointer
    private let needsMainThread: Atomic<Bool>
    private let isReleasedLater: Bool

    /// Takes over a reference that the caller owns.
    package init(adopting object: UnsafeMutableRawPointer, releaseOn thread: ReleaseThread = .main) {
        pointer = object
        needsMainThread = Atomic(thread != .any)
        isReleasedLater = thread == .laterOnMain
    }

    /// Takes a reference of its own. A floating reference, such as that of a new widget, is sunk.
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

    /// Ties the release to the main thread from now on, as for a texture that a renderer is about to draw.
    package func requireMainThread() {
        needsMainThread.store(true, ordering: .releasing)
    }
}

/// A reference on its way to the main thread.
///
/// @unchecked: the closure that carries it is the only one that touches the object.
private struct Orphan: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    func release() {
        g_object_unref(pointer)
    }
}
