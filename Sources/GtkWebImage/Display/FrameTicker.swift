internal import CWebImageGtk4

/// Calls back for each frame: those of a widget's clock while it is on screen, else sixty times a second.
@MainActor
final class FrameTicker {
    /// What GTK holds; it may outlive the ticker.
    private final class Context {
        weak var ticker: FrameTicker?
    }

    private let widget: WidgetReference?
    private let body: (_ time: Double) -> Void
    private var callback: guint = 0
    private var timer: guint = 0

    /// Begins to tick.
    /// - Parameter body: Called with the time of the frame in seconds, of the monotonic clock.
    init(_ widget: UnsafeMutablePointer<GtkWidget>?, _ body: @escaping (_ time: Double) -> Void) {
        self.widget = widget.map { WidgetReference(UnsafeMutableRawPointer($0)) }
        self.body = body
        let context = Context()
        context.ticker = self
        let retained = Unmanaged.passRetained(context).toOpaque()
        let drop: GDestroyNotify = { Unmanaged<Context>.fromOpaque($0!).release() }
        if let widget {
            let tick: GtkTickCallback = { _, clock, context in
                FrameTicker.tick(context!, Double(gdk_frame_clock_get_frame_time(clock)) / 1_000_000)
            }
            callback = gtk_widget_add_tick_callback(widget, tick, retained, drop)
        } else {
            let tick: GSourceFunc = { FrameTicker.tick($0!, Double(g_get_monotonic_time()) / 1_000_000) }
            timer = g_timeout_add_full(G_PRIORITY_DEFAULT_IDLE, 16, tick, retained, drop)
        }
    }

    /// Ends it. Without this it ticks for ever.
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
