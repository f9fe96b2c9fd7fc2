internal import CWebImageGtk4
import WebImageCore

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
