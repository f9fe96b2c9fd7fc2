internal import CWebImageGtk4

/// A weak reference to a widget.
@MainActor
package final class WidgetReference {
    private let reference: WeakReference

    package init(_ widget: UnsafeMutableRawPointer) {
        reference = WeakReference(widget)
    }

    /// The widget, if it still exists. The caller does not own a reference; the widget cannot go away before control
    /// returns to the main loop.
    package var address: UnsafeMutableRawPointer? { reference.object }

    /// The same as a GtkWidget.
    var pointer: UnsafeMutablePointer<GtkWidget>? { address?.assumingMemoryBound(to: GtkWidget.self) }
}

/// A GWeakRef, on the heap because GLib keeps its address.
///
/// @unchecked: GWeakRef may be read and cleared on any thread (gobject.c).
private final class WeakReference: @unchecked Sendable {
    private let reference: UnsafeMutablePointer<GWeakRef>

    init(_ object: UnsafeMutableRawPointer) {
        reference = .allocate(capacity: 1)
        g_weak_ref_init(reference, object)
    }

    deinit {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }

    var object: UnsafeMutableRawPointer? {
        guard let object = g_weak_ref_get(reference) else { return nil }
        // g_weak_ref_get finds an object only while another reference exists, and on the main thread that one stays.
        g_object_unref(object)
        return object
    }
}
