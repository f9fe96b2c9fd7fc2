internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// A place that shows images under an operation key: the image of a widget, the background of a button in one state, an
/// icon of an entry, or a paintable.
///
/// It keeps nothing alive, so create it where you use it. Main thread only.
@preconcurrency @MainActor
public struct ImageBinding: ImageBindable {
    /// A GtkWidget, or a paintable of the library.
    let object: UnsafeMutableRawPointer
    /// The key of the place. Loads of one object under different keys do not affect each other.
    let key: OperationKey
    let place: ImagePlace

    init(_ object: UnsafeMutableRawPointer, _ key: OperationKey, in place: ImagePlace) {
        self.object = object
        self.key = key
        self.place = place
    }

    /// This binding itself, so that it can be used like a widget.
    public var imageBinding: ImageBinding { self }

    /// Cancels the load, even if it has left its window with the widget.
    func cancel() { WidgetSlots.existing(of: object)?.cancel(key) }

    var existingSlot: ImageSlot? { WidgetSlots.existing(of: object)?.existingSlot(for: key) }

    var slot: ImageSlot {
        WidgetSlots.of(object).slot(for: key, in: place)
    }

    /// The slot, ready for another image.
    func preparedSlot() -> ImageSlot { WidgetSlots.of(object).preparedSlot(for: key, in: place) }

    /// Loads an image under the key. All forms of setImage call this.
    func set(_ request: BindingRequest, _ completion: ImageSlot.Completion?) -> ImageTask {
        let slots = WidgetSlots.of(object)
        return slots.preparedSlot(for: key, in: place).set(request, by: slots.manager ?? .shared, completion)
    }
}

/// The destination of the images of a binding.
enum ImagePlace {
    /// The image of a widget in one of its states.
    case image(ButtonImageState)
    /// The image behind the child of a button in one of its states.
    case background(ButtonImageState)
    /// An icon of an entry.
    case icon(EntryIconPosition)
    /// The icon of all windows.
    case application
    /// A paintable that is bound without a widget.
    case paintable(PaintableContent)
    /// A paintable that ``GtkWidgetConvertible/imageBinding(for:setPaintable:)`` has handed to the app, so that the slot exists.
    case handedOut
}
