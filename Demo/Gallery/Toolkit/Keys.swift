internal import CWebImageGtk4

/// A key press, as a handler of `onKey` receives it.
struct KeyPress: Sendable {
    /// One of GDK_KEY_...
    let key: Int32
    let modifiers: GdkModifierType
}

/// Handles the keys pressed while the focus is on a widget or in it, before GTK does.
/// - Parameter body: Returns whether it has handled the key, which GTK then ignores.
@MainActor
func onKey(in widget: Widget, _ body: @escaping (KeyPress) -> Bool) {
    typealias Callback =
        @convention(c) (UnsafeMutableRawPointer, guint, guint, GdkModifierType, UnsafeMutableRawPointer) -> gboolean
    let callback: Callback = { _, key, _, modifiers, box in
        answer(box, KeyPress(key: Int32(bitPattern: key), modifiers: modifiers))
    }
    let controller = gtk_event_controller_key_new()!
    gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
    connect(controller, "key-pressed", callback: callback, body: body)
    gtk_widget_add_controller(widget, controller)
}
