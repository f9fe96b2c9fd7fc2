/// Fades from the outgoing to the incoming image.
struct CrossfadeEffect: ImageTransitioning {
    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.crossfade = progress
        return layers
    }
}

/// Slides the incoming image in from an edge.
struct SlideEffect: ImageTransitioning {
    let edge: ImageTransition.Edge
    let pushesOutgoing: Bool

    func layers(at progress: Double) -> TransitionLayers {
        let direction: (x: Double, y: Double) =
            switch edge {
            case .left: (-1, 0)
            case .right: (1, 0)
            case .top: (0, -1)
            case .bottom: (0, 1)
            }
        var layers = TransitionLayers()
        layers.incoming.offsetX = direction.x * (1 - progress)
        layers.incoming.offsetY = direction.y * (1 - progress)
        if pushesOutgoing {
            layers.outgoing.offsetX = -direction.x * progress
            layers.outgoing.offsetY = -direction.y * progress
        }
        return layers
    }
}

/// Slides the outgoing image off the incoming one.
struct UncoverEffect: ImageTransitioning {
    let edge: ImageTransition.Edge

    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.isOutgoingOnTop = true
        switch edge {
        case .left: layers.outgoing.offsetX = -progress
        case .right: layers.outgoing.offsetX = progress
        case .top: layers.outgoing.offsetY = -progress
        case .bottom: layers.outgoing.offsetY = progress
        }
        return layers
    }
}

/// Turns a card with the outgoing image on its front and the incoming one on its back.
struct FlipEffect: ImageTransitioning {
    let edge: ImageTransition.Edge

    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        let angle: WritableKeyPath<TransitionLayers.Layer, Double>
        let direction: Double
        switch edge {
        case .left: (angle, direction) = (\.rotation, 1)
        case .right: (angle, direction) = (\.rotation, -1)
        case .top: (angle, direction) = (\.tilt, -1)
        case .bottom: (angle, direction) = (\.tilt, 1)
        }
        layers.outgoing[keyPath: angle] = direction * 180 * progress
        layers.incoming[keyPath: angle] = direction * 180 * (progress - 1)
        // Only the side that faces the viewer is visible.
        layers.outgoing.opacity = progress < 0.5 ? 1 : 0
        layers.incoming.opacity = progress < 0.5 ? 0 : 1
        return layers
    }
}

/// Enlarges the incoming image while it fades in.
struct ZoomEffect: ImageTransitioning {
    let initialScale: Double

    func layers(at progress: Double) -> TransitionLayers {
        var layers = TransitionLayers()
        layers.incoming.scale = initialScale + (1 - initialScale) * progress
        layers.incoming.opacity = progress
        return layers
    }
}
