/// The two images of a transition at one moment. Parts outside of the visible part of the image are clipped.
public struct TransitionLayers: Sendable, Hashable {
    /// The appearance of one image.
    public struct Layer: Sendable, Hashable {
        /// The opacity, from 0 (invisible) to 1 (opaque).
        public var opacity = 1.0
        /// The displacement to the right, in widths of the visible part of the image.
        public var offsetX = 0.0
        /// The displacement downwards, in heights of the visible part of the image.
        public var offsetY = 0.0
        /// The scale about the center.
        public var scale = 1.0
        /// The rotation about the vertical axis through the center, in degrees. The left edge comes forward.
        public var rotation = 0.0
        /// The rotation about the horizontal axis through the center, in degrees, applied before the other rotation.
        /// The bottom edge comes forward.
        public var tilt = 0.0

        /// Creates a layer that is drawn unchanged.
        public init() {}
    }

    /// The image that disappears.
    public var outgoing = Layer()
    /// The image that appears.
    public var incoming = Layer()
    /// Whether the outgoing image is drawn over the incoming one.
    public var isOutgoingOnTop = false
    /// The share of the incoming image in a true cross-fade, in which areas that are opaque in both images stay opaque.
    /// If it is set, all other properties are ignored.
    public var crossfade: Double?

    /// Creates layers that are drawn unchanged, the incoming one on top.
    public init() {}
}
