internal import CWebImageGtk4
import WebImageCore

/// A paintable of the app's that no widget is known of: it may be drawn by many, or by none.
@MainActor
final class StandaloneTarget: SlotTarget {
    /// Held weakly, for the paintable holds the slot.
    private(set) weak var content: PaintableContent?

    init(_ content: PaintableContent) {
        self.content = content
    }

    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { .original }
}

/// A widget that was handed the paintable by a closure of the app's.
@MainActor
final class ClosureTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let widget: WidgetReference?

    init(widget: WidgetReference?) {
        self.widget = widget
        paintable.content.styleWidget = { [weak widget] in widget?.pointer }
    }

    var area: UnsafeMutablePointer<GtkWidget>? { widget?.pointer }
    func attach() -> Bool { true }
    func decodeSize() -> DecodeSize? { widget?.pointer?.coveringSize }
}
