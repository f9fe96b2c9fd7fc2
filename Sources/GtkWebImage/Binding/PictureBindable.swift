/// A GtkPicture of any binding. To conform a class, name its pointer:
///
///     extension MyPicture: PictureBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
@preconcurrency @MainActor
public protocol PictureBindable: WidgetBindable {}

extension PictureBindable {
    /// The binding of the image that is shown while ``isImageHighlighted`` is set.
    public var highlightedImageBinding: ImageBinding { imageBinding(.highlightedImage, in: .highlighted) }

    /// Whether the widget shows its highlighted image, if it has one. Default: no.
    public var isImageHighlighted: Bool {
        get { WidgetSlots.existing(of: nativeWidgetPointer)?.presenters?.isHighlighted ?? false }
        nonmutating set { WidgetSlots.of(nativeWidgetPointer).presenters?.isHighlighted = newValue }
    }
}
