internal import CWebImageGtk4
import WebImageCore

/// A property of a widget that takes a GdkPaintable, as those of GtkImage, AdwAvatar and the icons of GtkEntry.
@MainActor
final class PropertyTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let widget: WidgetReference
    private let property: String
    /// The side of the image in application pixels, for widgets that show images at the size of icons.
    private let iconSize: (@MainActor (UnsafeMutablePointer<GtkWidget>) -> Int)?

    init(widget: WidgetReference, property: String, iconSize: (@MainActor (UnsafeMutablePointer<GtkWidget>) -> Int)?) {
        self.widget = widget
        self.property = property
        self.iconSize = iconSize
        paintable.content.styleWidget = { [weak widget] in widget?.pointer }
    }

    var area: UnsafeMutablePointer<GtkWidget>? { widget.pointer }

    func prepare() {
        // Setting the same paintable would invalidate the layout.
        guard !attach(), let widget = widget.pointer else { return }
        UnsafeMutableRawPointer(widget).setObjectProperty(property, paintable.nativePaintablePointer)
    }

    func attach() -> Bool {
        guard let widget = widget.pointer else { return false }
        return UnsafeMutableRawPointer(widget).objectProperty(property) == paintable.nativePaintablePointer
    }

    func decodeSize() -> DecodeSize? {
        guard let widget = widget.pointer else { return nil }
        if let iconSize {
            let side = iconSize(widget)
            return .contain(PixelSize(width: side, height: side).scaled(by: widget.deviceScale))
        }
        return widget.coveringSize
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The size that covers the widget; `nil` before its first layout.
    var coveringSize: DecodeSize? {
        let size = deviceSize
        return size.width > 1 && size.height > 1 ? .cover(size) : nil
    }
}
