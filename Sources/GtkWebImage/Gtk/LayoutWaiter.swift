internal import CWebImageGtk4
import WebImageLinux

/// Calls back when a mapped widget has been laid out, in the same frame.
///
/// GTK has no signal for a widget's allocation. The layout phase of its frame clock allocates, up to five times a
/// frame: lists map rows in one round and unmap them in the next. The paint phase comes after the last of them. One
/// handler a frame clock serves all who wait.
@MainActor
final class LayoutWaiter {
    private static let quark = g_quark_from_string("gtk-web-image-layout-waiter")

    private var waiting: [() -> Void] = []
    private var handler: gulong = 0

    static func wait(for widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping () -> Void) {
        guard let clock = gtk_widget_get_frame_clock(widget) else { return body() }
        let object = UnsafeMutableRawPointer(clock).assumingMemoryBound(to: GObject.self)
        let waiter: LayoutWaiter
        if let existing = g_object_get_qdata(object, quark) {
            waiter = Unmanaged<LayoutWaiter>.fromOpaque(existing).takeUnretainedValue()
        } else {
            waiter = LayoutWaiter()
            let context = Unmanaged.passRetained(waiter).toOpaque()
            g_object_set_qdata_full(object, quark, context) { Unmanaged<LayoutWaiter>.fromOpaque($0!).release() }
        }
        waiter.waiting.append(body)
        waiter.connect(clock)
        gdk_frame_clock_request_phase(clock, GDK_FRAME_CLOCK_PHASE_PAINT)
    }

    private func connect(_ clock: OpaquePointer) {
        guard handler == 0 else { return }
        let callback: @convention(c) (OpaquePointer, UnsafeMutableRawPointer) -> Void = { clock, context in
            let waiter = Unmanaged<LayoutWaiter>.fromOpaque(context).takeUnretainedValue()
            let address = UInt(bitPattern: clock)
            MainActor.assumeIsolated { waiter.laidOut(OpaquePointer(bitPattern: address)!) }
        }
        // The clock owns the waiter, so the handler may do with the bare address.
        handler = g_signal_connect_data(
            UnsafeMutableRawPointer(clock),
            "paint",
            unsafeBitCast(callback, to: GCallback.self),
            Unmanaged.passUnretained(self).toOpaque(),
            nil,
            G_CONNECT_AFTER
        )
    }

    private func laidOut(_ clock: OpaquePointer) {
        g_signal_handler_disconnect(UnsafeMutableRawPointer(clock), handler)
        handler = 0
        let ready = waiting
        waiting = []
        MainThreadMeter.measure {
            for body in ready { body() }
        }
    }
}
