internal import CWebImageGtk4
import WebImageLinux

extension UnsafeMutablePointer<GtkWidget> {
    /// Whether some part of a mapped widget lies within its window, and within each ancestor that clips its children,
    /// such as the viewport of a scrolled window. A widget without an area yet counts as in view.
    @MainActor
    var isInView: Bool {
        var ancestor = gtk_widget_get_parent(self)
        while let current = ancestor {
            let isWindow = UnsafeMutableRawPointer(current).isInstance(of: gtk_native_get_type())
            if isWindow || gtk_widget_get_overflow(current) == GTK_OVERFLOW_HIDDEN, !isWithin(current) { return false }
            // Coordinates end at the window or popover, which may exceed its parent.
            ancestor = isWindow ? nil : gtk_widget_get_parent(current)
        }
        return true
    }

    private func isWithin(_ ancestor: UnsafeMutablePointer<GtkWidget>) -> Bool {
        var (own, clip) = (graphene_rect_t(), graphene_rect_t())
        guard gtk_widget_compute_bounds(self, ancestor, &own) != 0,
            gtk_widget_compute_bounds(ancestor, ancestor, &clip) != 0,
            own.size.width > 0, own.size.height > 0, clip.size.width > 0, clip.size.height > 0
        else { return true }
        return graphene_rect_intersection(&own, &clip, nil)
    }
}

/// Calls back when a widget comes into view or leaves it.
///
/// GTK has no signal for that, and draws a widget that is scrolled into view from cached nodes, without asking its paintable.
/// Anything that moves a widget causes a layout, so the watchers of a window check after each one. Nothing runs while nothing
/// moves.
@MainActor
final class ViewWatcher {
    /// The watchers of one frame clock.
    @MainActor
    private final class Window {
        static let quark = g_quark_from_string("gtk-web-image-view-watchers")

        private let clock: UnsafeMutableRawPointer
        private var watchers: [Weak<ViewWatcher>] = []
        private var handler: UInt?

        private init(_ clock: OpaquePointer) {
            self.clock = UnsafeMutableRawPointer(clock)
        }

        /// Owned by the frame clock, and released with it.
        static func of(_ clock: OpaquePointer) -> Window {
            UnsafeMutableRawPointer(clock).companion(quark) { Window(clock) }
        }

        func add(_ watcher: ViewWatcher) {
            watchers.removeAll { $0.object == nil }
            watchers.append(Weak(object: watcher))
            guard handler == nil else { return }
            handler = clock.connect("layout", phase: .afterDefault) { [weak self] in self?.didLayOut() }
            // The current layout does not call the handler.
            gdk_frame_clock_request_phase(OpaquePointer(clock), GDK_FRAME_CLOCK_PHASE_LAYOUT)
        }

        private func didLayOut() {
            MainThreadMeter.measure {
                watchers.removeAll { $0.object?.look() == nil }
                if watchers.isEmpty, let handler = handler.take() { clock.disconnect(handler) }
            }
        }
    }

    private let widget: WidgetReference
    private let body: () -> Void
    /// Whether the widget was in view when it was last mapped.
    private(set) var isInView: Bool

    /// Starts to watch a widget, until the watcher is released.
    /// - Parameter body: Called after each change, in a turn of the main loop after the layout.
    /// - Returns: `nil` if the widget is not in a window.
    init?(_ widget: UnsafeMutablePointer<GtkWidget>, _ body: @escaping () -> Void) {
        guard let clock = gtk_widget_get_frame_clock(widget) else { return nil }
        self.widget = WidgetReference(UnsafeMutableRawPointer(widget))
        (self.body, isInView) = (body, widget.isInView)
        Window.of(clock).add(self)
    }

    private func look() {
        guard let widget = widget.pointer, gtk_widget_get_mapped(widget) != 0, widget.isInView != isInView
        else { return }
        isInView.toggle()
        // Code of the app must not run within GTK's layout.
        MainLoopDispatcher.shared.dispatch { [weak self] in MainActor.assumeIsolated { self?.body() } }
    }
}
