internal import CWebImageGtk4
import WebImageLinux

/// Has the window of a widget draw one frame after the other, and calls back at each.
@MainActor
final class FrameLoop {
    private let clock: OpaquePointer
    private var connections: [UInt] = []

    /// - Parameters:
    ///   - widget: A widget in a window; without one there are no frames.
    ///   - update: Called before a frame is drawn, with its time in microseconds.
    ///   - painted: Called when it has been drawn.
    init?(_ widget: Widget, update: @escaping (Int64) -> Void, painted: @escaping (Int64) -> Void) {
        guard let clock = gtk_widget_get_frame_clock(widget) else { return nil }
        self.clock = clock
        g_object_ref(UnsafeMutableRawPointer(clock))
        connections = [
            connect(clock, "update") { update(Int64(gdk_frame_clock_get_frame_time(clock))) },
            connect(clock, "after-paint") { painted(Int64(gdk_frame_clock_get_frame_time(clock))) },
        ]
        gdk_frame_clock_begin_updating(clock)
    }

    /// Ends the calls. It has to be called, or the window is drawn for ever.
    func stop() {
        guard !connections.isEmpty else { return }
        gdk_frame_clock_end_updating(clock)
        for connection in connections { UnsafeMutableRawPointer(clock).disconnect(connection) }
        connections = []
        g_object_unref(UnsafeMutableRawPointer(clock))
    }
}
