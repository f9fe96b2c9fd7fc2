import WebImageCore

/// A place that shows images under an operation key: the image of a widget, the background of a button in one state, an
/// icon of an entry, or a paintable.
///
/// It keeps nothing alive, so create it where you use it. Main thread only.
@MainActor
public struct ImageBinding: ImageBindable {
    /// A GtkWidget, or a paintable of the library.
    private let object: UnsafeMutableRawPointer
    /// The key of the place. Loads of one object under different keys never disturb each other.
    public let key: OperationKey
    private let makeTarget: @MainActor (WidgetSlots) -> any SlotTarget

    init(
        _ object: UnsafeMutableRawPointer,
        _ key: OperationKey,
        _ makeTarget: @escaping @MainActor (WidgetSlots) -> any SlotTarget
    ) {
        self.object = object
        self.key = key
        self.makeTarget = makeTarget
    }

    /// The binding itself.
    public var imageBinding: ImageBinding { self }

    var task: ImageTask? { WidgetSlots.existing(of: object)?.task(for: key) }

    var existingSlot: ImageSlot? { WidgetSlots.existing(of: object)?.existingSlot(for: key) }

    var slot: ImageSlot {
        let slots = WidgetSlots.of(object)
        return slots.slot(for: key) { makeTarget(slots) }
    }

    /// The slot, with its target ready to show an image.
    func preparedSlot() -> ImageSlot {
        let slot = slot
        slot.target.prepare()
        return slot
    }

    func listenToClicks() {
        WidgetSlots.of(object).listenToClicks()
    }
}
