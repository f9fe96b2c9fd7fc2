/// How one picture gives way to another. Pure arithmetic, called for each frame on the main thread.
public protocol ImageTransitioning: Sendable {
    /// How both are drawn at a time between 0 (the old one alone) and 1 (the new one alone).
    func layers(at progress: Double) -> TransitionLayers
}
