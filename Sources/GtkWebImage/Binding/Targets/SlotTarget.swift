internal import CWebImageGtk4
import WebImageCore

/// Where the images of a slot go: a paintable, and the place in a widget that shows it.
@MainActor
protocol SlotTarget: AnyObject {
    /// What is in the paintable that shows the images of this slot.
    var content: PaintableContent? { get }
    /// Called before each load: the app may have changed the widget since the last one.
    func prepare()
    /// Called before the paintable changes: puts it into the widget, unless it is there.
    /// - Returns: Whether it is shown; not when the app has put something else in its place.
    func attach() -> Bool
    /// Called when the paintable has changed.
    func changed()
    /// The widget that is drawn into, whose size counts.
    var area: UnsafeMutablePointer<GtkWidget>? { get }
    /// The size to decode at, in pixels; nil while there is none.
    func decodeSize() -> DecodeSize?
    /// The image that is shown.
    var image: WebImage? { get }
}

extension SlotTarget {
    func prepare() {}
    func changed() {}
    var image: WebImage? { content?.image }
}

/// Of a slot that only holds a load of the app's: nothing is shown.
@MainActor
final class EmptyTarget: SlotTarget {
    var content: PaintableContent? { nil }
    var area: UnsafeMutablePointer<GtkWidget>? { nil }
    func attach() -> Bool { false }
    func decodeSize() -> DecodeSize? { nil }
}
