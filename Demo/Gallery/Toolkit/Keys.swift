internal import CWebImageGtk4

/// A key press, as a handler of `onKey` receives it.
struct KeyPress {
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
        let handler = Unmanaged<KeyHandler>.fromOpaque(box).takeUnretainedValue()
        let press = KeyPress(key: Int32(bitPattern: key), modifiers: modifiers)
        return MainActor.assumeIsolated { handler.body(press) } ? 1 : 0
    }
    let controller = gtk_event_controller_key_new()!
    gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
    g_signal_connect_data(
        UnsafeMutableRawPointer(controller),
        "key-pressed",
        unsafeBitCast(callback, to: GCallback.self),
        Unmanaged.passRetained(KeyHandler(body)).toOpaque(),
        { box, _ in Unmanaged<KeyHandler>.fromOpaque(box!).release() },
        GConnectFlags(rawValue: 0)
    )
    gtk_widget_add_controller(widget, controller)
}

@MainActor
private final class KeyHandler {
    let body: (KeyPress) -> Bool

    init(_ body: @escaping (KeyPress) -> Bool) {
        self.body = body
    }
}
