internal import CWebImageGtk4
import WebImageCore

/// A property of a widget that accepts a GdkPaintable, such as those of GtkImage, AdwAvatar and the icons of GtkEntry.
@MainActor
final class PropertyTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    var image: WebImage? { attach() ? paintable.content.image : nil }
    private let widget: WidgetReference
    private let property: String
    /// Whether the widget shows other content while it has no paintable, as an avatar shows its initials. The paintable
    /// is then in the widget only while it has a size.
    private let isWithdrawnWithoutSize: Bool
    /// Whether the paintable was taken out of the widget because it has no size.
    private var isWithdrawn = false
    /// The side of the image in application pixels, for widgets that show images at the size of icons.
    private let iconSize: (@MainActor (UnsafeMutablePointer<GtkWidget>) -> Int)?

    init(
        widget: WidgetReference,
        property: String,
        isWithdrawnWithoutSize: Bool = false,
        iconSize: (@MainActor (UnsafeMutablePointer<GtkWidget>) -> Int)?
    ) {
        self.widget = widget
        self.property = property
        self.isWithdrawnWithoutSize = isWithdrawnWithoutSize
        self.iconSize = iconSize
        // AdwAvatar 1.2 draws the paintable as soon as it changes, and fails if nothing is drawn.
        paintable.content.isNeverBlank = isWithdrawnWithoutSize
        if isWithdrawnWithoutSize { paintable.content.onSizeLost = { [weak self] in self?.changed() } }
        paintable.content.styleWidget = widget
    }

    var area: UnsafeMutablePointer<GtkWidget>? { widget.pointer }

    func prepare() {
        if !attach() { place() }
    }

    func attach() -> Bool {
        guard let widget = widget.pointer else { return false }
        let shown = UnsafeMutableRawPointer(widget).objectProperty(property)
        return shown == paintable.pointer || isWithdrawn && shown == nil
    }

    var fixedSize: (width: Int, height: Int)? {
        didSet {
            guard let image = widget.pointer, property == "paintable", iconSize != nil else {
                return reportFixedSize(fixedSize)
            }
            let side = fixedSize.map { Int32(clamping: min($0.width, $0.height)) } ?? -1
            gtk_image_set_pixel_size(OpaquePointer(image), side)
        }
    }

    func changed() {
        if isWithdrawnWithoutSize, attach() { place() }
    }

    private func place() {
        guard let widget = widget.pointer.map({ UnsafeMutableRawPointer($0) }) else { return }
        isWithdrawn = isWithdrawnWithoutSize && !paintable.content.hasIntrinsicSize
        let shown = isWithdrawn ? nil : paintable.pointer
        // Setting the same paintable would invalidate the layout.
        if widget.objectProperty(property) != shown { widget.setObjectProperty(property, shown) }
    }

    func decodeSize(scale: Double) -> DecodeSize? {
        guard let widget = widget.pointer else { return nil }
        if let iconSize {
            // A style sheet may give icons another size than their widget (-gtk-icon-size).
            let side = max(iconSize(widget), Int(bounded: paintable.content.drawnSide.rounded(.up)))
            return .contain(PixelSize(width: side, height: side).scaled(by: scale))
        }
        return widget.coveringSize(scale: scale)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The side of the image of a GtkImage in application pixels (GtkImage:pixel-size, GtkIconSize).
    var imageSize: Int {
        let size = Int(gtk_image_get_pixel_size(OpaquePointer(self)))
        if size > 0 { return size }
        return gtk_image_get_icon_size(OpaquePointer(self)) == GTK_ICON_SIZE_LARGE ? 32 : 16
    }

    /// The size that covers the widget; `nil` before its first layout.
    func coveringSize(scale: Double) -> DecodeSize? {
        let size = PixelSize(width: Int(gtk_widget_get_width(self)), height: Int(gtk_widget_get_height(self)))
        let pixels = size.scaled(by: scale)
        return pixels.width > 1 && pixels.height > 1 ? .cover(pixels) : nil
    }
}
