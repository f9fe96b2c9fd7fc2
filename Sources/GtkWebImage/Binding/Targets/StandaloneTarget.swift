internal import CWebImageGtk4
import WebImageCore

/// A paintable of the app without a known widget. Any number of widgets may draw it.
@MainActor
final class StandaloneTarget: SlotTarget {
    /// Weak, because the paintable owns the slot.
    private(set) weak var content: PaintableContent?

    init(_ content: PaintableContent) {
        self.content = content
    }

    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { true }
    func decodeSize(scale: Double) -> DecodeSize? { .original }
}

/// A widget that received the paintable through a closure of the app.
@MainActor
final class ClosureTarget: SlotTarget {
    let paintable = ImagePaintable()
    var content: PaintableContent? { paintable.content }
    private let widget: WidgetReference?

    init(widget: WidgetReference?) {
        self.widget = widget
        paintable.content.styleWidget = widget
        paintable.content.isDrawnByWidget = false
    }

    var area: UnsafeMutablePointer<GtkWidget>? { widget?.pointer }
    func attach() -> Bool { true }
    func decodeSize(scale: Double) -> DecodeSize? { widget?.pointer?.coveringSize(scale: scale) }
}
