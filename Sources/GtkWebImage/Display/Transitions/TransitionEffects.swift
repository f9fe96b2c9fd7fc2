/// The one becomes the other.
struct CrossfadeEffect: ImageTransitioning {
    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.mixture = progress
        return layers
    }
}

/// The new one comes in from an edge.
struct SlideEffect: ImageTransitioning {
    let edge: ImageTransition.Edge
    let pushesOld: Bool

    func layers(at progress: Double) -> TransitionLayers {
        let direction: (x: Double, y: Double) =
            switch edge {
            case .left: (-1, 0)
            case .right: (1, 0)
            case .top: (0, -1)
            case .bottom: (0, 1)
            }
        var layers = TransitionLayers()
        layers.new.offsetX = direction.x * (1 - progress)
        layers.new.offsetY = direction.y * (1 - progress)
        if pushesOld {
            layers.old.offsetX = -direction.x * progress
            layers.old.offsetY = -direction.y * progress
        }
        return layers
    }
}

/// Both are the two sides of a card.
struct FlipEffect: ImageTransitioning {
    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.old.turn = 180 * progress
        layers.new.turn = 180 * (progress - 1)
        // Only the side that faces us is seen.
        layers.old.opacity = progress < 0.5 ? 1 : 0
        layers.new.opacity = progress < 0.5 ? 0 : 1
        return layers
    }
}

/// The new one grows into its place as it appears.
struct ZoomEffect: ImageTransitioning {
    let initialScale: Double

    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.new.scale = initialScale + (1 - initialScale) * progress
        layers.new.opacity = progress
        return layers
    }
}
