import FoundationEssentials
import Glibc
import WebImageCore

/// How a widget changes from its content to a newly loaded image.
///
/// Images from the memory cache appear without a transition, because nothing else was visible before them, unless
/// `BindingOptions.Display.animated` is set. Images from the disk have one unless you set ``isForNetworkOnly``. There is
/// no transition if the user reduces motion, or in a widget that is not mapped.
public struct ImageTransition: Sendable {
    /// An edge of the visible part of the image: where the incoming image enters, the outgoing one leaves, or a card comes forward.
    public enum Edge: Sendable {
        /// The left edge.
        case left
        /// The right edge.
        case right
        /// The upper edge.
        case top
        /// The lower edge.
        case bottom
    }

    /// The effect that draws both images.
    public var effect: any ImageTransitioning
    /// The length of the transition. Each built-in transition has its own default, from 0.2 to 0.4 s.
    public var duration: Duration
    /// The pace of the transition. Each built-in transition has its own default.
    public var easing: ImageEasing
    /// Whether only images that a server has sent or confirmed appear with the transition. Images from the disk cache, from files,
    /// resources and data URLs then appear at once, and so do partial images, whose origin is not known. Default: false.
    public var isForNetworkOnly = false
    /// Called on the main thread before the first frame of each transition is drawn. Default: nothing.
    public var onStart: (@MainActor @Sendable () -> Void)?
    /// Called on the main thread when a transition has ended, or is cut short by another image. Default: nothing.
    public var onEnd: (@MainActor @Sendable () -> Void)?

    /// Creates a transition with a built-in or custom effect. Default: 0.2 s, `.easeOut`.
    public init(
        _ effect: any ImageTransitioning,
        duration: Duration = .milliseconds(200),
        easing: ImageEasing = .easeOut
    ) {
        self.effect = effect
        self.duration = duration
        self.easing = easing
    }

    /// Whether an image of this origin appears with the transition.
    func applies(to response: ImageResponse) -> Bool {
        switch response.source {
        case .memory: false
        case .disk: !isForNetworkOnly
        case .loader:
            !isForNetworkOnly || !["file", "resource", "data"].contains(response.url.scheme?.lowercased())
        case .revalidated: true
        }
    }

    /// Fades from the outgoing to the incoming image.
    ///
    /// ![One image fades into another](transition-crossfade)
    public static func crossfade(duration: Duration = .milliseconds(200)) -> ImageTransition {
        ImageTransition(CrossfadeEffect(), duration: duration, easing: .linear)
    }

    /// Slides the incoming image over the outgoing one.
    ///
    /// ![An image slides in from the right, over another](transition-slide)
    /// ![An image slides in and pushes the other one out](transition-push)
    ///
    /// - Parameters:
    ///   - edge: The edge at which the incoming image enters. Default: the right one.
    ///   - pushesOutgoing: Whether the outgoing image leaves at the opposite edge. By default it stays in place.
    ///   - duration: The length of the transition. Default: 0.25 s.
    public static func slide(
        from edge: Edge = .right,
        pushesOutgoing: Bool = false,
        duration: Duration = .milliseconds(250)
    ) -> ImageTransition {
        ImageTransition(SlideEffect(edge: edge, pushesOutgoing: pushesOutgoing), duration: duration)
    }

    /// Slides the outgoing image off the incoming one, like a page that is taken away.
    ///
    /// ![An image slides upwards off another](transition-uncover)
    ///
    /// - Parameters:
    ///   - edge: The edge at which the outgoing image leaves. Default: the upper one.
    ///   - duration: The length of the transition. Default: 0.25 s.
    public static func uncover(to edge: Edge = .top, duration: Duration = .milliseconds(250)) -> ImageTransition {
        ImageTransition(UncoverEffect(edge: edge), duration: duration)
    }

    /// Turns the outgoing image over, with the incoming image on its back.
    ///
    /// ![An image turns over to another on its back](transition-flip)
    ///
    /// - Parameters:
    ///   - edge: The edge that comes forward, and moves to the opposite edge. Default: the left one.
    ///   - duration: The length of the transition. Default: 0.4 s.
    public static func flip(from edge: Edge = .left, duration: Duration = .milliseconds(400)) -> ImageTransition {
        ImageTransition(FlipEffect(edge: edge), duration: duration, easing: .easeInOut)
    }

    /// Enlarges the incoming image while it fades in.
    ///
    /// ![An image grows as it fades in over another](transition-zoom)
    ///
    /// - Parameters:
    ///   - scale: The initial scale. Default: 0.8.
    ///   - duration: The length of the transition. Default: 0.25 s.
    public static func zoom(from scale: Double = 0.8, duration: Duration = .milliseconds(250)) -> ImageTransition {
        ImageTransition(ZoomEffect(initialScale: scale), duration: duration)
    }
}

/// A transition effect. It is pure arithmetic, evaluated for each frame on the main thread.
public protocol ImageTransitioning: Sendable {
    /// Returns how both images are drawn.
    /// - Parameter progress: A number from 0, where only the outgoing image is seen, to 1, where only the incoming one is.
    func layers(at progress: Double) -> TransitionLayers
}

/// The pace of a transition: a curve from elapsed time to progress.
public struct ImageEasing: Sendable {
    private let curve: @Sendable (Double) -> Double

    /// Creates an easing.
    /// - Parameter curve: Maps the elapsed share of the duration to the progress, both from 0 to 1.
    public init(_ curve: @escaping @Sendable (Double) -> Double) {
        self.curve = curve
    }

    /// Returns the progress at a share of the duration, which is clamped to 0...1.
    package func value(at time: Double) -> Double { curve(min(max(time, 0), 1)) }

    /// A constant pace.
    public static let linear = ImageEasing { $0 }
    /// A slow start.
    public static let easeIn = ImageEasing { $0 * $0 * $0 }
    /// A slow end.
    public static let easeOut = ImageEasing { 1 - pow(1 - $0, 3) }
    /// A slow start and a slow end.
    public static let easeInOut = ImageEasing { $0 < 0.5 ? 4 * $0 * $0 * $0 : 1 - pow(2 - 2 * $0, 3) / 2 }
}
