internal import CWebImageGtk4

/// The drawing surface of an indicator. Coordinates are application pixels from the upper left corner.
@preconcurrency @MainActor
public final class IndicatorCanvas {
    /// The width of the image that is loading, in application pixels.
    public let width: Double
    /// The height of the image that is loading, in application pixels.
    public let height: Double
    /// Whether the widget is laid out from right to left, so that a direction such as the growth of a bar is mirrored.
    public let isRightToLeft: Bool
    private let cairo: OpaquePointer
    private let color: GdkRGBA

    init(_ context: DrawingContext, color: GdkRGBA) {
        width = context.width
        height = context.height
        isRightToLeft = context.direction == GTK_TEXT_DIR_RTL
        self.color = color
        var bounds = context.bounds
        cairo = gtk_snapshot_append_cairo(context.snapshot, &bounds)
    }

    /// Ends the drawing.
    func finish() {
        cairo_destroy(cairo)
    }

    /// Draws an arc with round ends.
    /// - Parameters:
    ///   - x: The center's x coordinate.
    ///   - y: The center's y coordinate.
    ///   - radius: The radius, measured to the middle of the line.
    ///   - lineWidth: The width of the line.
    ///   - start: The start of the arc, in turns clockwise from the top.
    ///   - end: The end of the arc, in turns clockwise from the top.
    ///   - opacity: The opacity of the widget's text color. Default: 1.
    public func arc(
        x: Double,
        y: Double,
        radius: Double,
        lineWidth: Double,
        from start: Double,
        to end: Double,
        opacity: Double = 1
    ) {
        setOpacity(opacity)
        cairo_new_path(cairo)
        cairo_set_line_width(cairo, lineWidth)
        cairo_set_line_cap(cairo, CAIRO_LINE_CAP_ROUND)
        cairo_arc(cairo, x, y, radius, (start - 0.25) * 2 * .pi, (end - 0.25) * 2 * .pi)
        cairo_stroke(cairo)
    }

    /// Draws a bar with round ends.
    /// - Parameters:
    ///   - x: The x coordinate of the left edge.
    ///   - y: The y coordinate of the upper edge.
    ///   - width: The width, including the ends.
    ///   - height: The height. The smaller dimension is the thickness of the bar.
    ///   - opacity: The opacity of the widget's text color. Default: 1.
    public func bar(x: Double, y: Double, width: Double, height: Double, opacity: Double = 1) {
        let radius = min(width, height) / 2
        guard radius > 0 else { return }
        setOpacity(opacity)
        cairo_new_path(cairo)
        cairo_arc(cairo, x + radius, y + radius, radius, .pi / 2, .pi * 3 / 2)
        cairo_arc(cairo, x + width - radius, y + radius, radius, -.pi / 2, .pi / 2)
        cairo_close_path(cairo)
        cairo_fill(cairo)
    }

    private func setOpacity(_ opacity: Double) {
        let alpha = Double(color.alpha) * min(max(opacity, 0), 1)
        cairo_set_source_rgba(cairo, Double(color.red), Double(color.green), Double(color.blue), alpha)
    }
}
