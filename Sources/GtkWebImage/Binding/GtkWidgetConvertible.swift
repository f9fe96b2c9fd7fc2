public import FoundationEssentials

/// A GTK widget of any binding: anything that can tell the address of its GtkWidget.
///
/// Conform the classes of your binding to PictureBindable, ButtonBindable, EntryBindable or
/// WidgetBindable, in one line each.
@MainActor
public protocol GtkWidgetConvertible {
    /// The GtkWidget *. It is used while a call lasts; the library keeps weak references only.
    var nativeWidgetPointer: UnsafeMutableRawPointer { get }
}

extension GtkWidgetConvertible {
    /// Ends the load under key, if there is one; its completion gets ImageError.Code.cancelled.
    public func cancelImageLoad(for key: OperationKey) {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.cancel()
    }

    /// The URL that was set last under key, whatever became of it; nil when none was.
    public func imageURL(for key: OperationKey) -> URL? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.url
    }

    /// The load under way under key.
    public func imageLoad(for key: OperationKey) -> ImageLoad? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.load
    }

    /// Lets go of the load under key without cancelling it: it goes on for its completion and the caches, and touches
    /// the widget no more.
    /// - Returns: The load, if there was one.
    @discardableResult
    public func removeImageLoad(for key: OperationKey) -> ImageLoad? {
        WidgetSlots.existing(of: nativeWidgetPointer)?.existingSlot(for: key)?.replaceLoad(with: nil)
    }

    /// Hangs a load of another widget, or one that was let go of, on this one: it is cancelled when something else is
    /// set under key, and when the widget is gone. It shows nothing here; its completion does what is to be done.
    public func setImageLoad(_ load: ImageLoad, for key: OperationKey) {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        let slot = slots.existingSlot(for: key) ?? slots.slot(for: key) { EmptyTarget() }
        slot.cancel()
        _ = slot.replaceLoad(with: load)
    }
}
