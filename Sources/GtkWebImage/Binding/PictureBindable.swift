internal import CWebImageGtk4

/// A GtkPicture of any binding. To conform a class, name its pointer:
///
///     extension MyPicture: PictureBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
@preconcurrency @MainActor
public protocol PictureBindable: WidgetBindable {}

extension PictureBindable {
    /// How the image fits into a GtkPicture, which also determines the size at which it is decoded. Default:
    /// ``ImageContentFit/contain``.
    public var contentFit: ImageContentFit {
        get { ImageContentFit(native: gtk_picture_get_content_fit(native()).rawValue) }
        nonmutating set { gtk_picture_set_content_fit(native(), GtkContentFit(newValue.native)) }
    }
}
