internal import CWebImageGtk4

/// A GtkButton, GtkToggleButton, GtkCheckButton or GtkMenuButton of any binding. A class conforms by naming its pointer,
/// as with ``PictureBindable``.
///
/// The image is the child of the button and replaces a label or another child. If the app sets another child later,
/// that child stays: the image is loaded, but not shown.
@preconcurrency @MainActor
public protocol ButtonBindable: WidgetBindable {}

extension ButtonBindable {
    /// The place of the image in a state of the button.
    public func imageBinding(for state: ImageState) -> ImageBinding {
        imageBinding(state == .normal ? .image : OperationKey(rawValue: "image.\(state.rawValue)"), in: state)
    }

    /// The place of the image behind the child of the button in a state. The image covers the button within its border
    /// and does not affect its size. A GtkCheckButton has no surface and thus no background image.
    public func backgroundImageBinding(for state: ImageState) -> ImageBinding {
        let key = OperationKey(rawValue: "background.\(state.rawValue)")
        return ImageBinding(nativeWidgetPointer, key, in: .widget(.background(state)))
    }
}
