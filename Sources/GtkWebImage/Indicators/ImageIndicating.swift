/// The look of an indicator. Called on the main thread, for each frame that it is seen in.
@MainActor
public protocol ImageIndicating: Sendable {
    /// Whether it moves by itself, so that it is drawn in every frame; others are drawn when there is progress.
    var isMoving: Bool { get }

    /// Draws the indicator.
    /// - Parameters:
    ///   - canvas: The whole of the picture that is to come.
    ///   - fraction: How much of it is there, from 0 to 1; `nil` while that is not known.
    ///   - time: Seconds since the indicator appeared; always 0 while `gtk-enable-animations` is off.
    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double)
}
