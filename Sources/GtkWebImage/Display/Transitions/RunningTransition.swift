internal import CWebImageGtk4
import Glibc
import WebImageCore

/// A transition in progress.
@MainActor
final class RunningTransition {
    private let outgoing: DisplayedContent
    private let focus: ImagePoint
    private let transition: ImageTransition
    /// Called by the owner when the transition ends.
    var onEnd: [@MainActor @Sendable () -> Void] = []
    private var start: Double?
    private var time = 0.0

    /// - Parameter focus: The point of the outgoing content that stays in view if it is cropped.
    init(from outgoing: DisplayedContent, focus: ImagePoint, _ transition: ImageTransition) {
        self.outgoing = outgoing
        self.focus = focus
        self.transition = transition
    }

    /// Advances the transition to the time of a frame, in seconds. The first call sets the start, so that time before
    /// the first frame does not count.
    /// - Returns: Whether the transition is over.
    func advance(to time: Double) -> Bool {
        if start == nil { start = time }
        self.time = time
        return elapsedShare >= 1
    }

    private var elapsedShare: Double {
        guard let start else { return 0 }
        let duration = transition.duration / .seconds(1)
        return duration > 0 ? (time - start) / duration : 1
    }

    /// - Parameter incoming: Draws the incoming content.
    func draw(in context: DrawingContext, incoming: (DrawingContext) -> Void) {
        let layers = transition.effect.layers(at: transition.easing.value(at: elapsedShare))
        if let crossfade = layers.crossfade {
            gtk_snapshot_push_cross_fade(context.snapshot, min(max(crossfade, 0), 1))
            drawOutgoing(in: context)
            gtk_snapshot_pop(context.snapshot)
            incoming(context)
            gtk_snapshot_pop(context.snapshot)
            return
        }
        context.clipped {
            if !layers.isOutgoingOnTop { draw(layers.outgoing, in: context) { drawOutgoing(in: context) } }
            draw(layers.incoming, in: context) { context.clippedToVisible { incoming(context) } }
            if layers.isOutgoingOnTop { draw(layers.outgoing, in: context) { drawOutgoing(in: context) } }
        }
    }

    /// The box has the aspect ratio of the incoming content, and may be larger than the widget.
    private func drawOutgoing(in context: DrawingContext) {
        context.visible { outgoing.drawCovering(in: $0, focus: focus) }
    }

    /// Moves and turns only the visible part of the box. Moving the rest as well would leave a gap next to the other image.
    private func draw(_ layer: TransitionLayers.Layer, in context: DrawingContext, _ body: () -> Void) {
        guard layer.opacity > 0, layer.scale > 0 else { return }
        let (snapshot, overhang) = (context.snapshot, context.overhang)
        let (x, y) = (overhang.width.start, overhang.height.start)
        let (width, height) = (context.width - overhang.width.length, context.height - overhang.height.length)
        gtk_snapshot_save(snapshot)
        var center = graphene_point_t(
            x: Float(x + (layer.offsetX + 0.5) * width),
            y: Float(y + (layer.offsetY + 0.5) * height)
        )
        var corner = graphene_point_t(x: Float(-x - width / 2), y: Float(-y - height / 2))
        gtk_snapshot_translate(snapshot, &center)
        if (layer.rotation != 0 || layer.tilt != 0) && !context.hasDepth {
            let (across, down) = (Self.cosine(layer.rotation), Self.cosine(layer.tilt))
            // An image seen from its edge is invisible, and GSK cannot invert a scale of zero.
            guard abs(across) > 0.001, abs(down) > 0.001 else { return gtk_snapshot_restore(snapshot) }
            gtk_snapshot_scale(snapshot, Float(across), Float(down))
        } else if layer.rotation != 0 || layer.tilt != 0 {
            gtk_snapshot_perspective(snapshot, Float(3 * max(width, height)))
            for (angle, x, y) in [(layer.rotation, 0, 1), (layer.tilt, 1, 0)] as [(Double, Float, Float)] {
                guard angle != 0 else { continue }
                var axis = graphene_vec3_t()
                graphene_vec3_init(&axis, x, y, 0)
                gtk_snapshot_rotate_3d(snapshot, Float(angle), &axis)
            }
        }
        if layer.scale != 1 { gtk_snapshot_scale(snapshot, Float(layer.scale), Float(layer.scale)) }
        gtk_snapshot_translate(snapshot, &corner)
        if layer.opacity < 1 { gtk_snapshot_push_opacity(snapshot, layer.opacity) }
        body()
        if layer.opacity < 1 { gtk_snapshot_pop(snapshot) }
        gtk_snapshot_restore(snapshot)
    }

    private static func cosine(_ degrees: Double) -> Double { cos(degrees * .pi / 180) }
}
