internal import CWebImageGtk4

/// A weak reference to a widget: a GWeakRef, on the heap because GLib keeps its address.
@MainActor
package final class WidgetReference {
    /// This is unsafe because the last owner clears it on any thread, as GWeakRef allows (gobject.c).
    nonisolated(unsafe) private let reference: UnsafeMutablePointer<GWeakRef>

    package init(_ widget: UnsafeMutableRawPointer) {
        reference = .allocate(capacity: 1)
        g_weak_ref_init(reference, widget)
    }

    deinit {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }

    /// The widget, if it still exists. The caller does not own a reference. The widget cannot be destroyed before
    /// control returns to the main loop.
    package var address: UnsafeMutableRawPointer? {
        guard let object = g_weak_ref_get(reference) else { return nil }
        // g_weak_ref_get finds an object only while another reference exists, and on the main thread that reference stays.
        g_object_unref(object)
        return object
    }

    /// The widget as a GtkWidget.
    var pointer: UnsafeMutablePointer<GtkWidget>? { address?.assumingMemoryBound(to: GtkWidget.self) }
}

/// A weak reference, for collections.
struct Weak<Object: AnyObject> {
    weak var object: Object?
}
