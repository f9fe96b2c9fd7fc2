internal import CWebImageGtk4

/// A scale of seconds that runs from the start of a load to its end, and keeps marks of what happened meanwhile.
@MainActor
final class TimeAxis {
    private let owned: OwnedWidget
    private let seconds: Int
    private var start = ContinuousClock.now
    private var runner: Task<Void, Never>?

    /// - Parameter seconds: The end of the scale, at which it stops.
    init(seconds: Int) {
        self.seconds = seconds
        owned = OwnedWidget(gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, Double(seconds), 0.1))
        gtk_scale_set_draw_value(scale, 0)
        // It is to be looked at.
        gtk_widget_set_can_target(widget, 0)
        gtk_widget_set_can_focus(widget, 0)
        setName(widget, tr("Time"))
        clear()
    }

    deinit { runner?.cancel() }

    var widget: Widget { owned.widget }

    private var scale: UnsafeMutablePointer<GtkScale> { cast(OpaquePointer(widget)) }

    private var value: Double { (ContinuousClock.now - start) / .seconds(1) }

    /// Starts at 0, without marks.
    func begin() {
        clear()
        start = .now
        runner?.cancel()
        runner = Task { [weak self] in
            while let self, !Task.isCancelled, value < Double(seconds) {
                gtk_range_set_value(cast(OpaquePointer(widget)), value)
                try? await Task.sleep(for: .milliseconds(40))
            }
        }
    }

    /// Keeps a mark at the present time, up to the end of the scale.
    func mark() { if value <= Double(seconds) { gtk_scale_add_mark(scale, value, GTK_POS_TOP, nil) } }

    /// Stops at the present time, unless it has been stopped before.
    func end() {
        guard let runner else { return }
        runner.cancel()
        self.runner = nil
        gtk_range_set_value(cast(OpaquePointer(widget)), value)
    }

    private func clear() {
        gtk_scale_clear_marks(scale)
        // More marks would touch one another in a narrow window.
        for second in stride(from: 0, through: seconds, by: seconds > 8 ? 2 : 1) {
            gtk_scale_add_mark(scale, Double(second), GTK_POS_BOTTOM, tr("%1 s", second))
        }
    }
}
