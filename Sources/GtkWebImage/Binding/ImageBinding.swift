import WebImageCore

/// A place where images are shown, under a key: the image of a widget, the background of a button in one state, an
/// icon of an entry, or a paintable by itself.
///
/// It keeps nothing alive; make it where it is used. Main thread only.
@MainActor
public struct ImageBinding: ImageBindable {
    /// A widget, or a paintable of the library's.
    private let object: UnsafeMutableRawPointer
    /// Loads of one object under different keys never disturb each other.
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

    /// Itself.
    public var imageBinding: ImageBinding { self }

    var existingSlot: ImageSlot? { WidgetSlots.existing(of: object)?.existingSlot(for: key) }

    var slot: ImageSlot {
        let slots = WidgetSlots.of(object)
        return slots.slot(for: key) { makeTarget(slots) }
    }

    /// The slot, its target ready to show something.
    func preparedSlot() -> ImageSlot {
        let slot = slot
        slot.target.prepare()
        return slot
    }

    func listenToClicks() {
        WidgetSlots.of(object).listenToClicks()
    }
}
