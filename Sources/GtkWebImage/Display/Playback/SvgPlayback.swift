internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageLinux

/// The playback of a GtkSvg (GTK 4.22) on the frame clock of the widget that shows it. A GtkSvg that plays on keeps the clock of
/// its window busy, seen or not.
@MainActor
final class SvgPlayback {
    /// The clocks of all that show a GtkSvg, which plays on the newest.
    private static var clocks: [OpaquePointer: [OpaquePointer]] = [:]

    private let svg: GObjectBox
    private let clock: OpaquePointer

    /// Starts playing.
    /// - Returns: `nil` for another paintable, without a clock, and with reduced motion.
    init?(_ paintable: GObjectBox, in widget: UnsafeMutablePointer<GtkWidget>?) {
        guard gwi_is_svg(paintable.opaquePointer) != 0, !ReducedMotion.isRequested,
            let clock = widget.flatMap({ gtk_widget_get_frame_clock($0) })
        else { return nil }
        (svg, self.clock) = (paintable, clock)
        Self.clocks[svg.opaquePointer, default: []].append(clock)
        gwi_svg_play(svg.opaquePointer, clock)
    }

    /// Ends the playback, unless another widget shows the GtkSvg.
    func stop() {
        var clocks = Self.clocks[svg.opaquePointer] ?? []
        if let index = clocks.firstIndex(of: clock) { clocks.remove(at: index) }
        Self.clocks[svg.opaquePointer] = clocks.isEmpty ? nil : clocks
        gwi_svg_play(svg.opaquePointer, clocks.last)
    }
}
