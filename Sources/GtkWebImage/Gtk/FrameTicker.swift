internal import CWebImageGtk4

/// Calls back for each frame: on the frame clock of a widget, or every 16 ms without a widget.
@MainActor
final class FrameTicker {
    /// The part that GTK owns, which may outlive the ticker.
    private final class Context {
        weak var ticker: FrameTicker?
    }

    private let widget: WidgetReference?
    private let body: (_ time: Double) -> Void
    private var callback: guint = 0
    private var timer: guint = 0

    /// Starts ticking.
    /// - Parameters:
    ///   - widget: The widget whose frame clock ticks while the widget is mapped.
    ///   - body: Receives the time of the frame on the monotonic clock, in seconds.
    init(_ widget: WidgetReference?, _ body: @escaping (_ time: Double) -> Void) {
        (self.widget, self.body) = (widget, body)
        let context = Context()
        context.ticker = self
        let retained = Unmanaged.passRetained(context).toOpaque()
        let release: GDestroyNotify = { Unmanaged<Context>.fromOpaque($0!).release() }
        if let widget = widget?.pointer {
            let tick: GtkTickCallback = { _, clock, context in
                FrameTicker.tick(context!, Double(gdk_frame_clock_get_frame_time(clock)) / 1_000_000)
            }
            callback = gtk_widget_add_tick_callback(widget, tick, retained, release)
        } else {
            let tick: GSourceFunc = { FrameTicker.tick($0!, Double(g_get_monotonic_time()) / 1_000_000) }
            timer = g_timeout_add_full(G_PRIORITY_DEFAULT_IDLE, 16, tick, retained, release)
        }
    }

    /// Stops ticking. A ticker that is only released stops at its next frame.
    func stop() {
        if callback != 0, let widget = widget?.pointer { gtk_widget_remove_tick_callback(widget, callback) }
        if timer != 0 { g_source_remove(timer) }
        (callback, timer) = (0, 0)
    }

    nonisolated private static func tick(_ context: UnsafeMutableRawPointer, _ time: Double) -> gboolean {
        let address = UInt(bitPattern: context)
        return MainActor.assumeIsolated {
            let context = Unmanaged<Context>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
            guard let ticker = context.ticker, ticker.callback != 0 || ticker.timer != 0 else { return 0 }
            ticker.body(time)
            return 1
        }
    }
}
