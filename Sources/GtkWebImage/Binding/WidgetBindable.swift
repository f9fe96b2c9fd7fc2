internal import CWebImageGtk4
public import WebImageCore
public import WebImageLinux

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
/// ``GtkWidgetConvertible/bindImage(with:key:placeholder:options:manager:setPaintable:completion:)``.
@preconcurrency @MainActor
public protocol WidgetBindable: GtkWidgetConvertible, ImageBindable {}

extension WidgetBindable {
    /// The binding of the image, in the place that suits the kind of the widget.
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
    /// Loads an image for any widget. A closure receives the paintable that shows it, once, and sets it on a property
    /// of the widget that accepts a `GdkPaintable *`.
    ///
    ///     image.bindImage(with: url) { paintable in
    ///         gtk_image_set_from_paintable(native, OpaquePointer(paintable.nativePaintablePointer))
    ///     }
    /// - Parameters:
    ///   - source: The URL or the ImageRequest to load. The image is decoded so that it covers the widget in device
    ///     pixels, unless the request sets a size.
    ///   - key: The purpose of the image within the widget. Default: ``OperationKey/image``.
    ///   - placeholder: What the widget shows until it has an image.
    ///   - options: How the widget treats the load.
    ///   - manager: The manager that loads the image. Default: the shared one.
    ///   - setPaintable: Puts the paintable into the widget. Called within the first call for a key. This function sets
    ///     the images of the paintable; do not set any yourself.
    ///   - completion: Called exactly once, after the image is in place or the load has failed.
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
