internal import CWebImageGtk4

/// Where an entry shows an icon.
public enum EntryIconPosition: String, Sendable {
    /// At the start of the text.
    case primary
    /// At its end.
    case secondary
}

/// A GtkEntry of any binding. A class joins by naming its pointer, as with PictureBindable. By itself it shows
/// its image as its primary icon.
@MainActor
public protocol EntryBindable: WidgetBindable {}

extension EntryBindable {
    /// The icon at the start of the text.
    public var imageBinding: ImageBinding { iconBinding(at: .primary) }

    /// An icon, with all that a binding can do.
    public func iconBinding(at position: EntryIconPosition) -> ImageBinding {
        let key: OperationKey = position == .primary ? .image : OperationKey(rawValue: "icon.secondary")
        return ImageBinding(nativeWidgetPointer, key) { slots in
            guard let widget = slots.widget else { preconditionFailure("\(Self.self) is no widget") }
            return PropertyTarget(widget: widget, property: "\(position.rawValue)-icon-paintable") { _ in 16 }
        }
    }
}
