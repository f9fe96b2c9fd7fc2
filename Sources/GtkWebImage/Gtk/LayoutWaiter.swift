internal import CWebImageGtk4
import WebImageLinux

/// Calls back once a mapped widget has been laid out, within the same frame.
///
/// GTK has no signal for a widget's allocation. The layout phase of the frame clock allocates widgets up to five times
/// a frame: lists map rows in one round and unmap them in the next. The paint phase follows the last round. One handler
/// per frame clock serves all waiting widgets.
@MainActor
final class LayoutWaiter {
    private static let quark = g_quark_from_string("gtk-web-image-layout-waiter")

    private let clock: UnsafeMutableRawPointer
    private var waiting: [() -> Void] = []
    private var handler: UInt?

    private init(_ clock: OpaquePointer) {
        self.clock = UnsafeMutableRawPointer(clock)
    }

    /// Calls `body` after the next layout of a widget, or immediately if the widget has no frame clock.
    static func wait(for widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping () -> Void) {
        guard let clock = gtk_widget_get_frame_clock(widget) else { return body() }
        let waiter = UnsafeMutableRawPointer(clock).companion(quark) { LayoutWaiter(clock) }
        waiter.waiting.append(body)
        if waiter.handler == nil {
            waiter.handler = waiter.clock.connect("paint", phase: .afterDefault) { [weak waiter] in waiter?.didLayOut()
            }
        }
        gdk_frame_clock_request_phase(clock, GDK_FRAME_CLOCK_PHASE_PAINT)
    }

    private func didLayOut() {
        if let handler = handler.take() { clock.disconnect(handler) }
        MainThreadMeter.measure { for body in exchange(&waiting, with: []) { body() } }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Whether the widget is part of a row of a GtkListView or a similar list. Such lists also bind rows that the next
    /// layout moves off screen, so a load waits for that layout.
    var isInList: Bool { gtk_widget_get_ancestor(self, gtk_list_base_get_type()) != nil }
}
