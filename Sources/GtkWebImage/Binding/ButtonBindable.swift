internal import CWebImageGtk4
public import FoundationEssentials

/// A GtkButton, GtkToggleButton, GtkCheckButton or GtkMenuButton of any binding. To conform a class, name its pointer,
/// as with ``PictureBindable``.
///
/// The image is the child of the button and replaces a label or another child. If you set another child later, that
/// child stays: the image is loaded, but not shown.
@preconcurrency @MainActor
public protocol ButtonBindable: WidgetBindable {}

extension ButtonBindable {
    /// The binding of the image in a state of the button.
    public func imageBinding(for state: ButtonImageState) -> ImageBinding {
        imageBinding(state == .normal ? .image : OperationKey(rawValue: "image.\(state)"), in: state)
    }

    /// The binding of the image behind the child of the button in a state. The image covers the button within its
    /// border and does not affect its size. A GtkCheckButton has no surface and thus no background image.
    public func backgroundImageBinding(for state: ButtonImageState) -> ImageBinding {
        let key = OperationKey(rawValue: "background.\(state)")
        return ImageBinding(nativeWidgetPointer, key, in: .background(state))
    }

    /// The URL of the image that the button shows in its current state. A state without an image shows the image of the normal state.
    public var displayedImageURL: URL? {
        guard let widget = WidgetReference(nativeWidgetPointer).pointer else { return nil }
        let states = ButtonImageState.states(of: gtk_widget_get_state_flags(widget).rawValue)
        let shown = states.first { imageBinding(for: $0).existingSlot?.target.content?.isEmpty == false } ?? .normal
        return imageBinding(for: shown).request?.url
    }
}
