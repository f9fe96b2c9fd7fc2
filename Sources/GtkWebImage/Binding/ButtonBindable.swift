internal import CWebImageGtk4

/// A GtkButton, or a GtkToggleButton, GtkCheckButton or GtkMenuButton, of any binding. A class joins by naming
/// its pointer, as with PictureBindable.
///
/// The image is the child of the button, instead of a label or another child. An app that gives the button another
/// child later keeps that one: the image is then loaded, but not shown.
@MainActor
public protocol ButtonBindable: WidgetBindable {}

extension ButtonBindable {
    /// The image of a state, with all that a binding can do.
    public func imageBinding(for state: ImageState) -> ImageBinding {
        imageBinding(state == .normal ? .image : OperationKey(rawValue: "image.\(state.rawValue)"), in: state)
    }

    /// The image behind the button's child in a state, with all that a binding can do. It covers the button within
    /// its border, and has no say in its size. Not for a GtkCheckButton, which has no surface of its own.
    public func backgroundImageBinding(for state: ImageState) -> ImageBinding {
        let pointer = nativeWidgetPointer
        return ImageBinding(pointer, OperationKey(rawValue: "background.\(state.rawValue)")) { slots in
            let background = slots.shared("background") { ButtonBackground(pointer) }
            slots.follow(background.host)
            let target = PictureTarget(background.host, state)
            target.content?.hasSize = false
            return target
        }
    }
}
