internal import CWebImageGtk4
internal import CWebImageGtkShims
import WebImageCore

/// What a GwiPaintable draws. The GObject owns it.
@MainActor
final class PaintableContent {
    /// The GObject, which outlives this.
    private(set) var native = OpaquePointer(bitPattern: 1)!
    private(set) var image: WebImage?
    private(set) var placeholder: Placeholder?
    private var icon: PlaceholderIcon?
    /// The intrinsic size in application pixels; 0: none.
    private var width = 0.0
    private var height = 0.0

    /// Told the size in application pixels at which a picture is drawn, within GTK's snapshot: it must change nothing.
    var onDraw: ((_ width: Double, _ height: Double) -> Void)?
    /// The widget whose colour of text symbolic icons take, if there still is one.
    var styleWidget: (() -> UnsafeMutablePointer<GtkWidget>?)?

    init() {
        native = gwi_paintable_new(PaintableCallbacks.table, Unmanaged.passRetained(self).toOpaque())
    }

    func show(image: WebImage?, placeholder: Placeholder?) {
        self.image = image
        self.placeholder = placeholder
        icon = nil
        let size = intrinsicSize
        if size == (width, height) {
            gdk_paintable_invalidate_contents(native)
        } else {
            (width, height) = size
            gdk_paintable_invalidate_size(native)
            gdk_paintable_invalidate_contents(native)
        }
    }

    fileprivate func draw(_ snapshot: OpaquePointer, width: Double, height: Double) {
        if let image {
            draw(image, snapshot, width, height)
            if width > 0, height > 0 { onDraw?(width, height) }
            return
        }
        switch placeholder?.kind {
        case .image(let image): draw(image, snapshot, width, height)
        case .icon(let name, let pixelSize): drawIcon(name, pixelSize, snapshot, width, height)
        case nil: break
        }
    }

    /// The texture of what is shown, which never changes; else something empty of the same size.
    fileprivate func makeCurrentImage() -> OpaquePointer {
        guard let shown = image ?? placeholderImage else {
            return gdk_paintable_new_empty(Int32(width.rounded()), Int32(height.rounded()))
        }
        let texture = shown.texture
        texture.markDrawn()
        return OpaquePointer(g_object_ref(UnsafeMutableRawPointer(texture.pointer)))
    }

    fileprivate var intrinsicWidth: Int32 { Int32(clamping: Int(width.rounded())) }
    fileprivate var intrinsicHeight: Int32 { Int32(clamping: Int(height.rounded())) }
    fileprivate var aspectRatio: Double { height > 0 ? width / height : 0 }

    private var placeholderImage: WebImage? {
        if case .image(let image) = placeholder?.kind { return image }
        return nil
    }

    private var intrinsicSize: (Double, Double) {
        if let shown = image ?? placeholderImage { return (shown.logicalWidth, shown.logicalHeight) }
        if case .icon(_, let pixelSize) = placeholder?.kind { return (Double(pixelSize), Double(pixelSize)) }
        return (0, 0)
    }

    private func draw(_ image: WebImage, _ snapshot: OpaquePointer, _ width: Double, _ height: Double) {
        let texture = image.texture
        texture.markDrawn()
        gdk_paintable_snapshot(texture.pointer, snapshot, width, height)
    }

    private func drawIcon(
        _ name: String,
        _ pixelSize: Int,
        _ snapshot: OpaquePointer,
        _ width: Double,
        _ height: Double
    ) {
        let side = min(Double(pixelSize), width, height)
        guard side >= 1 else { return }
        let widget = styleWidget?()
        let icon = icon ?? PlaceholderIcon(name, pixelSize: pixelSize, for: widget)
        self.icon = icon
        var origin = graphene_point_t(x: Float((width - side) / 2), y: Float((height - side) / 2))
        gtk_snapshot_save(snapshot)
        gtk_snapshot_translate(snapshot, &origin)
        icon?.draw(snapshot, side: side, for: widget)
        gtk_snapshot_restore(snapshot)
    }
}

/// The functions that the GObject calls. GTK calls them on the main thread only.
private enum PaintableCallbacks {
    /// Made once and never freed, as class tables are.
    @MainActor static let table: UnsafePointer<GwiPaintableFunctions> = {
        let table = UnsafeMutablePointer<GwiPaintableFunctions>.allocate(capacity: 1)
        table.initialize(
            to: GwiPaintableFunctions(
                snapshot: { context, snapshot, width, height in
                    let address = UInt(bitPattern: snapshot)
                    onMain(context) { $0.draw(OpaquePointer(bitPattern: address)!, width: width, height: height) }
                },
                current_image: { context in
                    OpaquePointer(bitPattern: onMain(context) { UInt(bitPattern: $0.makeCurrentImage()) })
                },
                width: { context in onMain(context) { $0.intrinsicWidth } },
                height: { context in onMain(context) { $0.intrinsicHeight } },
                aspect_ratio: { context in onMain(context) { $0.aspectRatio } },
                release: { context in Unmanaged<PaintableContent>.fromOpaque(context!).release() }
            )
        )
        return UnsafePointer(table)
    }()

    private static func onMain<R: Sendable>(
        _ context: UnsafeMutableRawPointer?,
        _ body: @MainActor (PaintableContent) -> R
    ) -> R {
        let content = Unmanaged<PaintableContent>.fromOpaque(context!).takeUnretainedValue()
        return MainActor.assumeIsolated { body(content) }
    }
}
