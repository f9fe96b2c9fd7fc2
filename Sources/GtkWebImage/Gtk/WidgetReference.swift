internal import CWebImageGtk4

/// A weak reference to a widget.
@MainActor
final class WidgetReference {
    /// On the heap, for GLib keeps its address.
    private let reference: UnsafeMutablePointer<GWeakRef>
    private let handle: WeakHandle

    init(_ widget: UnsafeMutableRawPointer) {
        reference = .allocate(capacity: 1)
        g_weak_ref_init(reference, widget)
        handle = WeakHandle(reference: reference)
    }

    deinit {
        handle.free()
    }

    /// The widget, if it still exists. The caller does not own a reference; the widget lives on while the main thread
    /// does nothing else.
    var pointer: UnsafeMutablePointer<GtkWidget>? {
        guard let object = g_weak_ref_get(reference) else { return nil }
        // Somebody else holds one, or g_weak_ref_get would have found nothing; on the main thread it stays.
        g_object_unref(object)
        return object.assumingMemoryBound(to: GtkWidget.self)
    }
}

/// @unchecked: GWeakRef may be cleared on any thread.
private struct WeakHandle: @unchecked Sendable {
    let reference: UnsafeMutablePointer<GWeakRef>

    func free() {
        g_weak_ref_clear(reference)
        reference.deallocate()
    }
}
