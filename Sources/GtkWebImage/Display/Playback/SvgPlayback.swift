internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageLinux

/// The playback of a GtkSvg (GTK 4.22) on the frame clock of the widget that shows it. A GtkSvg that plays on keeps the clock of
/// its window busy, seen or not.
@MainActor
final class SvgPlayback {
    /// The frame clocks of the widgets that show each GtkSvg, which plays on the newest.
    private static var clocks: [OpaquePointer: [GObjectBox]] = [:]

    private let svg: GObjectBox
    private let clock: GObjectBox

    /// - Returns: `nil` for another paintable, without a clock, and with reduced motion.
    init?(_ paintable: GObjectBox, in widget: UnsafeMutablePointer<GtkWidget>?) {
        guard gwi_is_svg(paintable.opaquePointer) != 0, !ReducedMotion.isRequested,
            let clock = widget.flatMap({ gtk_widget_get_frame_clock($0) })
        else { return nil }
        (svg, self.clock) = (paintable, GObjectBox(retaining: UnsafeMutableRawPointer(clock)))
    }

    /// Starts playing. GTK tells the app, which may show something else within this call.
    func start() {
        Self.clocks[svg.opaquePointer, default: []].append(clock)
        gwi_svg_play(svg.opaquePointer, clock.opaquePointer)
    }

    /// Ends the playback, unless another widget shows the GtkSvg.
    func stop() {
        var clocks = Self.clocks[svg.opaquePointer] ?? []
        guard let index = clocks.firstIndex(where: { $0 === clock }) else { return }
        clocks.remove(at: index)
        Self.clocks[svg.opaquePointer] = clocks.isEmpty ? nil : clocks
        gwi_svg_play(svg.opaquePointer, clocks.last?.opaquePointer)
    }
}
