/// How the old and the new image are drawn at one moment of a transition. What is outside of the widget's image is
/// cut off.
public struct TransitionLayers: Sendable, Hashable {
    /// How one of them is drawn.
    public struct Layer: Sendable, Hashable {
        /// From 0, not at all, to 1.
        public var opacity = 1.0
        /// How far it is moved to the right, in widths.
        public var offsetX = 0.0
        /// How far it is moved down, in heights.
        public var offsetY = 0.0
        /// How large it is, from its middle.
        public var scale = 1.0
        /// How far it is turned about the vertical axis through its middle, in degrees.
        public var turn = 0.0

        /// Makes a layer that is drawn as it is.
        public init() {}
    }

    /// What was shown before.
    public var old = Layer()
    /// What is shown from now on.
    public var new = Layer()
    /// Whether the old one is drawn over the new one.
    public var isOldOnTop = false
    /// Draws a mixture with this share of the new one, as a true cross-fade: what is opaque in both stays so.
    public var mixture: Double?

    /// Makes layers that are drawn as they are, the new one on top.
    public init() {}
}
