/// Shows that an image is under way. It is drawn by the paintable over whatever the widget shows, in the colour of its
/// text, and needs no widget of its own.
@MainActor
public struct ImageIndicator: Sendable {
    /// What it looks like.
    public var style: any ImageIndicating
    /// How long a load has to take until it appears. Default: 0.15 s.
    public var delay: Duration

    /// Makes an indicator, with a look of your own too.
    public init(_ style: any ImageIndicating, delay: Duration = .milliseconds(150)) {
        self.style = style
        self.delay = delay
    }

    /// An arc that goes round.
    public static let activity = ImageIndicator(SpinnerIndicator(size: 32))
    /// A circle that closes as the bytes arrive.
    public static let progress = ImageIndicator(RingIndicator(size: 32))
    /// A bar that fills as the bytes arrive.
    public static let bar = ImageIndicator(BarIndicator())

    /// An arc that goes round.
    /// - Parameters:
    ///   - size: Width and height in application pixels; less where there is no room.
    ///   - delay: How long a load has to take until it appears. Default: 0.15 s.
    public static func activity(size: Double, delay: Duration = .milliseconds(150)) -> ImageIndicator {
        ImageIndicator(SpinnerIndicator(size: size), delay: delay)
    }

    /// A circle that closes as the bytes arrive.
    /// - Parameters:
    ///   - size: Width and height in application pixels; less where there is no room.
    ///   - delay: How long a load has to take until it appears. Default: 0.15 s.
    public static func progress(size: Double, delay: Duration = .milliseconds(150)) -> ImageIndicator {
        ImageIndicator(RingIndicator(size: size), delay: delay)
    }
}

/// The look of an indicator. Called on the main thread, for each frame that it is seen in.
@MainActor
public protocol ImageIndicating: Sendable {
    /// Whether it moves by itself, so that it is drawn in every frame; others are drawn when there is progress.
    var isMoving: Bool { get }

    /// Draws the indicator.
    /// - Parameters:
    ///   - canvas: The whole of the image that is to come.
    ///   - fraction: How much of it is there, from 0 to 1; nil while that is not known.
    ///   - time: Seconds since the indicator appeared; always 0 while gtk-enable-animations is off.
    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double)
}
