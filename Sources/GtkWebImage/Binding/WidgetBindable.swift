internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// A widget of any GTK binding and of any kind that shows one image. To conform a class, name its pointer:
///
///     extension MyAvatar: WidgetBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
///
/// GtkPicture, GtkImage, AdwAvatar and AdwStatusPage show the image themselves, and so does any widget with a property
/// named `paintable` or `custom-image`. A GtkWindow takes it as its icon, a GtkEntry as its primary icon. A widget with a `child` gets a GtkPicture as
/// its child: GtkButton, GtkMenuButton, GtkCheckButton, GtkFrame, GtkListBoxRow, AdwBin, ShumateMarker and others. For
/// all other widgets there is
/// ``GtkWidgetConvertible/imageBinding(for:setPaintable:)``.
@preconcurrency @MainActor
public protocol WidgetBindable: GtkWidgetConvertible, ImageBindable {}

extension WidgetBindable {
    /// The binding of the image, in the place that suits the kind of the widget.
    public var imageBinding: ImageBinding { imageBinding(.image) }

    func imageBinding(_ key: OperationKey, in state: ButtonImageState = .normal) -> ImageBinding {
        ImageBinding(nativeWidgetPointer, key, in: .image(state))
    }

    /// Sets the text that assistive technology reads out instead of the image.
    public func setImageDescription(_ text: String?) {
        let pointer = nativeWidgetPointer
        if pointer.isInstance(of: gtk_picture_get_type()) {
            gtk_picture_set_alternative_text(OpaquePointer(pointer), text)
        }
        pointer.assumingMemoryBound(to: GtkWidget.self).setLabel(text)
    }
}
