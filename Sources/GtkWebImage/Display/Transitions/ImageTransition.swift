/// How a widget goes from what it shows to an image that has come.
///
/// Images from memory are shown without one, unless ImageOptions.forceTransition is given: they are there before
/// anything else could be seen. There is none while gtk-enable-animations is off, and none in a widget that is not on
/// screen.
public struct ImageTransition: Sendable {
    /// Where an image comes from.
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

    /// The old image becomes the new one.
    public static func crossfade(duration: Duration = .milliseconds(200)) -> ImageTransition {
        ImageTransition(CrossfadeEffect(), duration: duration, easing: .linear)
    }

    /// The new image comes in from an edge, over the old one.
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

    /// The old image turns about its vertical axis, and has the new one on its back.
    public static func flip(duration: Duration = .milliseconds(400)) -> ImageTransition {
        ImageTransition(FlipEffect(), duration: duration, easing: .easeInOut)
    }

    /// The new image grows into its place as it appears.
    /// - Parameters:
    ///   - scale: The share of its size at which it begins. Default: 0.8.
    ///   - duration: How long it takes. Default: 0.25 s.
    public static func zoom(from scale: Double = 0.8, duration: Duration = .milliseconds(250)) -> ImageTransition {
        ImageTransition(ZoomEffect(initialScale: scale), duration: duration)
    }
}

/// How one image gives way to another. Pure arithmetic, called for each frame on the main thread.
public protocol ImageTransitioning: Sendable {
    /// How both are drawn at a time between 0 (the old one alone) and 1 (the new one alone).
    func layers(at progress: Double) -> TransitionLayers
}

#if canImport(Glibc)
    import Glibc
#else
    import Musl
#endif

/// How a transition gets from its start to its end.
public struct ImageEasing: Sendable {
    private let curve: @Sendable (Double) -> Double

    /// Makes an easing.
    /// - Parameter curve: Gets the share of the time that is over, says the share of the way that is done.
    public init(_ curve: @escaping @Sendable (Double) -> Double) {
        self.curve = curve
    }

    /// The share of the way that is done, at a share of the time: before 0 that of 0, after 1 that of 1.
    public func value(at time: Double) -> Double { curve(min(max(time, 0), 1)) }

    /// Always as fast.
    public static let linear = ImageEasing { $0 }
    /// Slow at first.
    public static let easeIn = ImageEasing { $0 * $0 * $0 }
    /// Slow at the end.
    public static let easeOut = ImageEasing { 1 - pow(1 - $0, 3) }
    /// Slow at both ends.
    public static let easeInOut = ImageEasing { $0 < 0.5 ? 4 * $0 * $0 * $0 : 1 - pow(2 - 2 * $0, 3) / 2 }
}
