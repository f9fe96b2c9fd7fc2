/// How a widget goes from what it shows to a picture that has come.
///
/// Pictures from memory are shown without one, unless `ImageOptions.forceTransition` is given: they are there before
/// anything else could be seen. There is none while `gtk-enable-animations` is off, and none in a widget that is not on
/// screen.
public struct ImageTransition: Sendable {
    /// Where a picture comes from.
    public enum Edge: Sendable {
        /// One of the four.
        case left, right, top, bottom
    }

    /// What it looks like.
    public var effect: any ImageTransitioning
    /// How long it takes. Default: 0.2 s.
    public var duration: Duration
    /// How it gets from its start to its end. Default: slow at the end.
    public var easing: ImageEasing

    /// Makes a transition, with an effect of your own too.
    public init(
        _ effect: any ImageTransitioning,
        duration: Duration = .milliseconds(200),
        easing: ImageEasing = .easeOut
    ) {
        self.effect = effect
        self.duration = duration
        self.easing = easing
    }

    /// The old picture becomes the new one.
    public static func crossfade(duration: Duration = .milliseconds(200)) -> ImageTransition {
        ImageTransition(CrossfadeEffect(), duration: duration, easing: .linear)
    }

    /// The new picture comes in from an edge, over the old one.
    /// - Parameters:
    ///   - edge: Where the new one comes from. Default: the right.
    ///   - pushesOld: Whether the old one goes out at the other edge. Default: no, it stays.
    ///   - duration: How long it takes. Default: 0.25 s.
    public static func slide(
        from edge: Edge = .right,
        pushesOld: Bool = false,
        duration: Duration = .milliseconds(250)
    ) -> ImageTransition {
        ImageTransition(SlideEffect(edge: edge, pushesOld: pushesOld), duration: duration)
    }

    /// The old picture turns about its vertical axis, and has the new one on its back.
    public static func flip(duration: Duration = .milliseconds(400)) -> ImageTransition {
        ImageTransition(FlipEffect(), duration: duration, easing: .easeInOut)
    }

    /// The new picture grows into its place as it appears.
    /// - Parameters:
    ///   - scale: The share of its size at which it begins. Default: 0.8.
    ///   - duration: How long it takes. Default: 0.25 s.
    public static func zoom(from scale: Double = 0.8, duration: Duration = .milliseconds(250)) -> ImageTransition {
        ImageTransition(ZoomEffect(initialScale: scale), duration: duration)
    }
}
