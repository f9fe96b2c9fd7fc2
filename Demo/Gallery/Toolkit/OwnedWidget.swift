internal import CWebImageGtk4

/// Owns a reference to a widget, and with it all widgets below. A task that outlives the place of the widget in the window may
/// use them still: a reload or a closed window frees what nobody owns at once.
@MainActor
final class OwnedWidget {
    let widget: Widget
    private let address: UInt

    /// - Parameter widget: Its floating reference, such as that of a new widget, is sunk.
    init(_ widget: Widget) {
        self.widget = widget
        address = UInt(bitPattern: widget)
        g_object_ref_sink(widget)
    }

    deinit {
        // The last owner may be a task, which ends on any thread, and GTK has one.
        g_idle_add(
            { widget in
                g_object_unref(widget)
                return 0
            },
            UnsafeMutableRawPointer(bitPattern: address)
        )
    }
}
