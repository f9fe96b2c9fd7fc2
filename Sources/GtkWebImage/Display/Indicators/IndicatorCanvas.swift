internal import CWebImageGtk4

/// What an indicator is drawn on, in application pixels from the upper left corner.
@MainActor
public final class IndicatorCanvas {
    /// Of the image that is to come.
    public let width: Double
    /// Of the image that is to come.
    public let height: Double
    private let context: OpaquePointer
    private let color: GdkRGBA

    init(_ snapshot: OpaquePointer, _ width: Double, _ height: Double, _ color: GdkRGBA) {
        self.width = width
        self.height = height
        self.color = color
        var bounds = graphene_rect_t(width, height)
        context = gtk_snapshot_append_cairo(snapshot, &bounds)
    }

    /// Ends the drawing.
    func finish() {
        cairo_destroy(context)
    }

    /// Draws a part of a circle.
    /// - Parameters:
    ///   - x: Of the middle.
    ///   - y: Of the middle.
    ///   - radius: To the middle of the line.
    ///   - lineWidth: How broad the line is; its ends are round.
    ///   - start: Where it begins, in turns clockwise from the top.
    ///   - end: Where it ends.
    ///   - opacity: Of the widget's colour of text.
    public func arc(
        x: Double,
        y: Double,
        radius: Double,
        lineWidth: Double,
        from start: Double,
        to end: Double,
        opacity: Double = 1
    ) {
        use(opacity)
        cairo_new_path(context)
        cairo_set_line_width(context, lineWidth)
        cairo_set_line_cap(context, CAIRO_LINE_CAP_ROUND)
        cairo_arc(context, x, y, radius, (start - 0.25) * 2 * .pi, (end - 0.25) * 2 * .pi)
        cairo_stroke(context)
    }

    /// Draws a bar with round ends.
    /// - Parameters:
    ///   - x: Of its left edge.
    ///   - y: Of its upper edge.
    ///   - width: From end to end.
    ///   - height: The smaller of the two is the thickness.
    ///   - opacity: Of the widget's colour of text.
    public func bar(x: Double, y: Double, width: Double, height: Double, opacity: Double = 1) {
        let radius = min(width, height) / 2
        guard radius > 0 else { return }
        use(opacity)
        cairo_new_path(context)
        cairo_arc(context, x + radius, y + radius, radius, .pi / 2, .pi * 3 / 2)
        cairo_arc(context, x + width - radius, y + radius, radius, -.pi / 2, .pi / 2)
        cairo_close_path(context)
        cairo_fill(context)
    }

    private func use(_ opacity: Double) {
        let alpha = Double(color.alpha) * min(max(opacity, 0), 1)
        cairo_set_source_rgba(context, Double(color.red), Double(color.green), Double(color.blue), alpha)
    }
}
