/// A GtkPicture of any binding. A class joins by naming its pointer:
///
///     extension MyPicture: PictureBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
@MainActor
public protocol PictureBindable: WidgetBindable {}

extension PictureBindable {
    /// The image that is shown while isImageHighlighted, with all that a binding can do.
    public var highlightedImageBinding: ImageBinding { imageBinding(.highlightedImage, in: .highlighted) }

    /// Whether the highlighted image is shown, if there is one. Default: no.
    public var isImageHighlighted: Bool {
        get { WidgetSlots.existing(of: nativeWidgetPointer)?.isHighlighted ?? false }
        nonmutating set { WidgetSlots.of(nativeWidgetPointer).isHighlighted = newValue }
    }
}
