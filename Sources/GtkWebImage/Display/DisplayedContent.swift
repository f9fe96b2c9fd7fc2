internal import CWebImageGtk4
import WebImageCore

/// One thing that a paintable shows.
@MainActor
enum DisplayedContent {
    case nothing
    case image(WebImage)
    case icon(PlaceholderIcon)
    case color(ImageColor)
    case paintable(SharedPaintable)

    init(_ placeholder: Placeholder?, for widget: UnsafeMutablePointer<GtkWidget>?) {
        switch placeholder?.kind {
        case .image(let image): self = .image(image)
        case .icon(let name, let pixelSize): self = .icon(PlaceholderIcon(name, pixelSize: pixelSize))
        case .color(let color): self = .color(color)
        case .paintable(let paintable): self = .paintable(paintable)
        // It is shown as an image when it is there.
        case .url, nil: self = .nothing
        }
    }

    var image: WebImage? {
        if case .image(let image) = self { image } else { nil }
    }

    var isNothing: Bool {
        if case .nothing = self { true } else { false }
    }

    /// The intrinsic size in application pixels; 0: none.
    var size: (width: Double, height: Double) {
        switch self {
        case .image(let image): (image.logicalWidth, image.logicalHeight)
        case .icon(let icon): (Double(icon.pixelSize), Double(icon.pixelSize))
        case .paintable(let paintable):
            (
                Double(gdk_paintable_get_intrinsic_width(paintable.pointer)),
                Double(gdk_paintable_get_intrinsic_height(paintable.pointer))
            )
        case .nothing, .color: (0, 0)
        }
    }

    /// Draws into a box that has its shape, or into whatever there is.
    func draw(
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double,
        _ widget: UnsafeMutablePointer<GtkWidget>?
    ) {
        guard width > 0, height > 0 else { return }
        switch self {
        case .nothing: break
        case .image(let image):
            let texture = image.texture
            texture.markDrawn()
            gdk_paintable_snapshot(texture.pointer, snapshot, width, height)
        case .icon(let icon):
            let side = min(Double(icon.pixelSize), width, height)
            guard side >= 1 else { return }
            var origin = graphene_point_t(x: Float((width - side) / 2), y: Float((height - side) / 2))
            gtk_snapshot_save(snapshot)
            gtk_snapshot_translate(snapshot, &origin)
            icon.draw(snapshot, side: side, for: widget)
            gtk_snapshot_restore(snapshot)
        case .color(let color):
            var native = GdkRGBA(color)
            var bounds = graphene_rect_t(width, height)
            gtk_snapshot_append_color(snapshot, &native, &bounds)
        case .paintable(let paintable):
            gdk_paintable_snapshot(paintable.pointer, snapshot, width, height)
        }
    }

    /// Draws into a box of another shape: covers it, and is cut off at its edges.
    func drawCovering(
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double,
        _ widget: UnsafeMutablePointer<GtkWidget>?
    ) {
        var own = size
        if case .icon = self { own = (0, 0) }
        guard own.width > 0, own.height > 0 else { return draw(snapshot, width, height, widget) }
        let factor = max(width / own.width, height / own.height)
        let (drawnWidth, drawnHeight) = (own.width * factor, own.height * factor)
        var bounds = graphene_rect_t(width, height)
        var origin = graphene_point_t(x: Float((width - drawnWidth) / 2), y: Float((height - drawnHeight) / 2))
        gtk_snapshot_push_clip(snapshot, &bounds)
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        draw(snapshot, drawnWidth, drawnHeight, widget)
        gtk_snapshot_restore(snapshot)
        gtk_snapshot_pop(snapshot)
    }

    /// A new reference to something that never changes; nil when there is nothing.
    func makeStill() -> OpaquePointer? {
        switch self {
        case .image(let image):
            let texture = image.texture
            texture.markDrawn()
            return OpaquePointer(g_object_ref(UnsafeMutableRawPointer(texture.pointer)))
        case .paintable(let paintable): return gdk_paintable_get_current_image(paintable.pointer)
        case .nothing, .icon, .color: return nil
        }
    }
}

extension GdkRGBA {
    init(_ color: ImageColor) {
        func channel(_ shift: UInt32) -> Float { Float(color.rgba >> shift & 255) / 255 }
        self.init(red: channel(24), green: channel(16), blue: channel(8), alpha: channel(0))
    }
}

extension graphene_rect_t {
    init(_ width: Double, _ height: Double) {
        self.init(
            origin: graphene_point_t(x: 0, y: 0),
            size: graphene_size_t(width: Float(width), height: Float(height))
        )
    }
}
