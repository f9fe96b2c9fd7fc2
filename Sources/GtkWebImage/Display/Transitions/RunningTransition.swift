internal import CWebImageGtk4
import WebImageCore

/// A transition under way.
@MainActor
final class RunningTransition {
    private let old: DisplayedContent
    private let transition: ImageTransition
    /// Called at its end, by whoever ends it.
    let onEnd: (() -> Void)?
    private var start: Double?
    private var time = 0.0

    init(from old: DisplayedContent, _ transition: ImageTransition, onEnd: (() -> Void)?) {
        self.old = old
        self.transition = transition
        self.onEnd = onEnd
    }

    /// - Parameter time: In seconds. The first one is the start: what was decoded meanwhile does not count.
    /// - Returns: Whether it is over.
    func advance(to time: Double) -> Bool {
        if start == nil { start = time }
        self.time = time
        return share >= 1
    }

    private var share: Double {
        guard let start else { return 0 }
        let duration = transition.duration / .seconds(1)
        return duration > 0 ? (time - start) / duration : 1
    }

    func draw(
        to new: DisplayedContent,
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double,
        _ widget: UnsafeMutablePointer<GtkWidget>?
    ) {
        let layers = transition.effect.layers(at: transition.easing.value(at: share))
        if let mixture = layers.mixture {
            gtk_snapshot_push_cross_fade(snapshot, min(max(mixture, 0), 1))
            old.drawCovering(snapshot, width, height, widget)
            gtk_snapshot_pop(snapshot)
            new.draw(snapshot, width, height, widget)
            gtk_snapshot_pop(snapshot)
            return
        }
        var bounds = graphene_rect_t(width, height)
        gtk_snapshot_push_clip(snapshot, &bounds)
        let drawOld = {
            self.draw(layers.old, snapshot, width, height) {
                self.old.drawCovering(snapshot, width, height, widget)
            }
        }
        if !layers.isOldOnTop { drawOld() }
        draw(layers.new, snapshot, width, height) { new.draw(snapshot, width, height, widget) }
        if layers.isOldOnTop { drawOld() }
        gtk_snapshot_pop(snapshot)
    }

    private func draw(
        _ layer: TransitionLayers.Layer,
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double,
        _ body: () -> Void
    ) {
        guard layer.opacity > 0, layer.scale > 0 else { return }
        gtk_snapshot_save(snapshot)
        var middle = graphene_point_t(
            x: Float((layer.offsetX + 0.5) * width),
            y: Float((layer.offsetY + 0.5) * height)
        )
        var corner = graphene_point_t(x: Float(-width / 2), y: Float(-height / 2))
        gtk_snapshot_translate(snapshot, &middle)
        if layer.turn != 0 {
            gtk_snapshot_perspective(snapshot, Float(3 * max(width, height)))
            var axis = graphene_vec3_t()
            graphene_vec3_init(&axis, 0, 1, 0)
            gtk_snapshot_rotate_3d(snapshot, Float(layer.turn), &axis)
        }
        if layer.scale != 1 { gtk_snapshot_scale(snapshot, Float(layer.scale), Float(layer.scale)) }
        gtk_snapshot_translate(snapshot, &corner)
        if layer.opacity < 1 { gtk_snapshot_push_opacity(snapshot, layer.opacity) }
        body()
        if layer.opacity < 1 { gtk_snapshot_pop(snapshot) }
        gtk_snapshot_restore(snapshot)
    }
}
