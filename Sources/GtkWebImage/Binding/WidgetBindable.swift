internal import CWebImageGtk4
public import WebImageCore
public import WebImageLinux

/// A widget of any GTK binding, and of any kind, that shows one image. A class conforms by naming its pointer:
///
///     extension MyAvatar: WidgetBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
///
/// GtkPicture, GtkImage, AdwAvatar and AdwStatusPage show the image themselves, and so does any widget with a property
/// named `paintable` or `custom-image`. A GtkWindow takes it as its icon, a GtkEntry as its primary icon. A widget with a `child` gets a GtkPicture as
/// its child: GtkButton, GtkMenuButton, GtkCheckButton, GtkFrame, GtkListBoxRow, AdwBin, ShumateMarker and others. For
/// all other widgets there is
/// ``GtkWidgetConvertible/bindImage(with:key:placeholder:options:manager:setPaintable:completion:)``.
@preconcurrency @MainActor
public protocol WidgetBindable: GtkWidgetConvertible, ImageBindable {}

extension WidgetBindable {
    /// The place for an image that suits the kind of the widget.
    public var imageBinding: ImageBinding { imageBinding(.image) }

    func imageBinding(_ key: OperationKey, in state: ButtonImageState = .normal) -> ImageBinding {
        ImageBinding(nativeWidgetPointer, key, in: .widget(.image(state)))
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

extension GtkWidgetConvertible {
    /// Loads an image for any widget. A closure receives the paintable that shows it, once, and hands it to a property of
    /// the widget that takes a `GdkPaintable *`.
    ///
    ///     image.bindImage(with: url) { paintable in
    ///         gtk_image_set_from_paintable(native, OpaquePointer(paintable.nativePaintablePointer))
    ///     }
    /// - Parameters:
    ///   - source: The URL or the ImageRequest to load. An image is decoded at the size of the widget times its scale
    ///     factor, so that it covers the widget, unless the request names a size.
    ///   - key: The purpose of the image within the widget. Default: ``OperationKey/image``.
    ///   - placeholder: The stand-in until there is an image.
    ///   - options: What concerns the widget rather than the image.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - setPaintable: Puts the paintable into the widget. Called within the first call for a key. Its images are those of this
    ///     function; set no others on the paintable itself.
    ///   - completion: Called exactly once, after the image is in place or has failed.
    /// - Returns: The load.
    @discardableResult
    public func bindImage(
        with source: (some ImageRequestConvertible)?,
        key: OperationKey = .image,
        placeholder: Placeholder? = nil,
        options: BindingOptions = BindingOptions(),
        manager: ImageManager = .shared,
        setPaintable: @MainActor (ImagePaintable) -> Void,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageTask {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        slots.cancelAppTask(for: key)
        let slot = slots.slot(for: key) {
            let target = ClosureTarget(widget: slots.widget)
            setPaintable(target.paintable)
            return target
        }
        let request = BindingRequest(source, placeholder: placeholder, options: options, manager: manager)
        return slot.set(request, completion)
    }
}
