/// A loading indicator. The paintable draws it over the content of the widget, in the text color of the widget, so it
/// needs no additional widget.
@preconcurrency @MainActor
public struct ImageIndicator: Sendable {
    /// The look of the indicator.
    package var style: any ImageIndicating
    /// The time that a load must take before the indicator appears. Default: 0.15 s.
    package var delay: Duration

    /// Creates an indicator with a built-in or custom look.
    public init(_ style: any ImageIndicating, delay: Duration = .milliseconds(150)) {
        self.style = style
        self.delay = delay
    }

    /// A spinning arc.
    ///
    /// ![An arc spins in a circle until the image is there](indicator-activity)
    public static let activity = ImageIndicator(SpinnerIndicator(size: 32))
    /// A ring that closes as the bytes arrive.
    ///
    /// ![A ring closes until the image is there](indicator-progress)
    public static let progress = ImageIndicator(RingIndicator(size: 32))
    /// A bar that fills as the bytes arrive.
    ///
    /// ![A bar fills until the image is there](indicator-bar)
    public static let bar = ImageIndicator(BarIndicator())

    /// A spinning arc.
    ///
    /// ![An arc spins in a circle until the image is there](indicator-activity)
    ///
    /// - Parameters:
    ///   - size: Width and height in application pixels. A smaller widget shrinks it.
    ///   - delay: The time that a load must take before the indicator appears. Default: 0.15 s.
    public static func activity(size: Double, delay: Duration = .milliseconds(150)) -> ImageIndicator {
        ImageIndicator(SpinnerIndicator(size: size), delay: delay)
    }

    /// A ring that closes as the bytes arrive.
    ///
    /// ![A ring closes until the image is there](indicator-progress)
    ///
    /// - Parameters:
    ///   - size: Width and height in application pixels. A smaller widget shrinks it.
    ///   - delay: The time that a load must take before the indicator appears. Default: 0.15 s.
    public static func progress(size: Double, delay: Duration = .milliseconds(150)) -> ImageIndicator {
        ImageIndicator(RingIndicator(size: size), delay: delay)
    }
}

/// The look of an indicator. GTK draws it on the main thread, in each frame in which it is visible.
@preconcurrency @MainActor
public protocol ImageIndicating: Sendable {
    /// Whether the indicator is redrawn in every frame. Otherwise it is drawn only when the progress changes.
    var isAnimated: Bool { get }

    /// Draws the indicator.
    /// - Parameters:
    ///   - canvas: The area of the image that is loading.
    ///   - fraction: The share of the image that has arrived, from 0 to 1; `nil` while it is unknown.
    ///   - time: Seconds since the indicator appeared; always 0 while the user reduces motion.
    func draw(on canvas: IndicatorCanvas, fraction: Double?, time: Double)
}
