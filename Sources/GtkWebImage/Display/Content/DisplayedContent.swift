internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The image or placeholder that a paintable displays.
@MainActor
enum DisplayedContent {
    case nothing
    case image(WebImage)
    case icon(PlaceholderIcon, over: WebImage? = nil)
    case color(ImageColor)
    /// A GdkPaintable of the app.
    case paintable(GObjectBox)

    init(_ placeholder: ImagePlaceholder) {
        switch placeholder.kind {
        case .image(let image): self = .image(image)
        case .icon(let name, let size): self = .icon(PlaceholderIcon(name, pixelSize: size))
        case .color(let color): self = .color(color)
        case .paintable(let paintable): self = .paintable(paintable)
        // A placeholder URL is loaded like any image, and displayed as one.
        case .url: self = .nothing
        }
    }

    var image: WebImage? {
        if case .image(let image) = self { image } else { nil }
    }

    var isNothing: Bool {
        if case .nothing = self { true } else { false }
    }

    /// The intrinsic size in application pixels; 0 if there is none.
    var size: (width: Double, height: Double) {
        switch self {
        case .image(let image), .icon(_, let image?): (image.logicalWidth, image.logicalHeight)
        case .icon(let icon, nil): (Double(icon.pixelSize), Double(icon.pixelSize))
        case .paintable(let paintable):
            (
                Double(gdk_paintable_get_intrinsic_width(paintable.opaquePointer)),
                Double(gdk_paintable_get_intrinsic_height(paintable.opaquePointer))
            )
        case .nothing, .color: (0, 0)
        }
    }

    /// Draws the content, stretched to the box. An icon stays square and centered.
    func draw(in context: DrawingContext) {
        guard !context.isEmpty else { return }
        switch self {
        case .nothing: break
        case .image(let image):
            gdk_paintable_snapshot(image.texture.pointer, context.snapshot, context.width, context.height)
        case .icon(let icon, let image):
            if let image { DisplayedContent.image(image).draw(in: context) }
            let side = min(Double(icon.pixelSize), context.width, context.height)
            guard side >= 1 else { return }
            context.centered(width: side, height: side) { icon.draw(in: $0) }
        case .color(let color):
            var native = GdkRGBA(color)
            var bounds = context.bounds
            gtk_snapshot_append_color(context.snapshot, &native, &bounds)
        case .paintable(let paintable):
            let (native, snapshot) = (paintable.opaquePointer, context.snapshot)
            if let widget = context.widget, paintable.pointer.isInstance(of: gtk_symbolic_paintable_get_type()) {
                // GTK adds its colors of errors, warnings and success.
                var color = widget.textColor
                gtk_symbolic_paintable_snapshot_symbolic(native, snapshot, context.width, context.height, &color, 1)
            } else {
                gdk_paintable_snapshot(native, snapshot, context.width, context.height)
            }
        }
    }

    /// Draws the content in its own aspect ratio, so that it covers the box and is cropped around a point.
    func drawCovering(in context: DrawingContext, focus: ImagePoint) {
        let own = size
        if case .icon(let icon, let image) = self {
            if let image { DisplayedContent.image(image).drawCovering(in: context, focus: focus) }
            return DisplayedContent.icon(icon).draw(in: context)
        }
        guard own.width > 0, own.height > 0 else { return draw(in: context) }
        let factor = max(context.width / own.width, context.height / own.height)
        context.clipped {
            context.centered(width: own.width * factor, height: own.height * factor, focus: focus) { draw(in: $0) }
        }
    }

    /// A new reference to an immutable paintable with the same look; `nil` if there is none.
    func makeStill() -> OpaquePointer? {
        switch self {
        case .image(let image): image.makeTexture()
        case .paintable(let paintable): gdk_paintable_get_current_image(paintable.opaquePointer)
        case .nothing, .icon, .color: nil
        }
    }
}
