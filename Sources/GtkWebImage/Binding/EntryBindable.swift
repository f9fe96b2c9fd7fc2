internal import CWebImageGtk4

/// The position of an icon in an entry.
public enum EntryIconPosition: Sendable {
    /// The start of the text.
    case primary
    /// The end of the text.
    case secondary
}

extension EntryIconPosition {
    /// - Parameter native: A GtkEntryIconPosition.
    init(native: UInt) {
        self = UInt32(truncatingIfNeeded: native) == GTK_ENTRY_ICON_SECONDARY.rawValue ? .secondary : .primary
    }

    /// The operation key of the icon.
    var key: OperationKey { self == .primary ? .image : OperationKey(rawValue: "icon.secondary") }
}

/// A GtkEntry of any binding, whose image is its primary icon. To conform a class, name its pointer, as with
/// ``PictureBindable``.
@preconcurrency @MainActor
public protocol EntryBindable: WidgetBindable {}

extension EntryBindable {
    /// The binding of an icon, to set its image, transition or placeholder. The primary icon is also the `imageBinding`.
    public func iconBinding(at position: EntryIconPosition) -> ImageBinding {
        ImageBinding(nativeWidgetPointer, position.key, in: .icon(position))
    }
}
