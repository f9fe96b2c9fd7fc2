internal import CWebImageGtk4
public import WebImageCore
public import WebImageLinux

/// A widget of any GTK binding that shows one image, whatever kind of widget it is. A class joins by naming its
/// pointer:
///
///     extension MyAvatar: WidgetBindable {
///         var nativeWidgetPointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(gobjectPointer) }
///     }
///
/// What GtkImage, AdwAvatar and AdwStatusPage show is theirs; a GtkWindow has it as its icon; a widget with room for
/// one child gets a GtkPicture as its child: GtkButton, GtkMenuButton, GtkCheckButton, GtkFrame, GtkListBoxRow, AdwBin,
/// ShumateMarker and their like. For all others there is
/// GtkWidgetConvertible/bindImage(with:key:placeholder:loading:retry:options:transformer:manager:setPaintable:completion:).
@MainActor
public protocol WidgetBindable: GtkWidgetConvertible, ImageBindable {}

extension WidgetBindable {
    /// What suits the kind of the widget.
    public var imageBinding: ImageBinding { imageBinding(.image) }

    func imageBinding(_ key: OperationKey, in state: ImageState = .normal) -> ImageBinding {
        let pointer = nativeWidgetPointer
        return ImageBinding(pointer, key) { slots in Self.makeTarget(pointer, slots, state) }
    }

    /// Says what assistive technology is to say instead of the image.
    public func setImageDescription(_ text: String?) {
        let pointer = nativeWidgetPointer
        if pointer.isInstance(of: gtk_picture_get_type()) {
            gtk_picture_set_alternative_text(OpaquePointer(pointer), text)
        }
        pointer.assumingMemoryBound(to: GtkWidget.self).setLabel(text)
    }

    private static func makeTarget(
        _ pointer: UnsafeMutableRawPointer,
        _ slots: WidgetSlots,
        _ state: ImageState
    ) -> any SlotTarget {
        guard let widget = slots.widget else { preconditionFailure("\(Self.self) is no widget") }
        let paintable = gdk_paintable_get_type()
        if pointer.isInstance(of: gtk_picture_get_type()) {
            let host = slots.shared("image") { PicturePresenter(picture: widget) }
            if state != .normal { slots.follow(host) }
            return PictureTarget(host, state)
        }
        if pointer.isInstance(of: gtk_image_get_type()) {
            return PropertyTarget(widget: widget, property: "paintable") { $0.imageSize }
        }
        if pointer.isInstance(of: gtk_window_get_type()) { return WindowIconTarget(window: widget) }
        for property in ["custom-image", "paintable"] where pointer.hasProperty(property, of: paintable) {
            return PropertyTarget(widget: widget, property: property, iconSize: nil)
        }
        precondition(
            pointer.hasProperty("child", of: gtk_widget_get_type()),
            "\(Self.self) is a \(String(cString: g_type_name_from_instance(pointer.assumingMemoryBound(to: GTypeInstance.self)))), which takes neither a paintable nor a child; use bindImage"
        )
        let child = slots.shared("child") { ImageChild() }
        if state != .normal { slots.follow(child.host) }
        return ChildTarget(widget: widget, child: child, state: state)
    }
}

extension GtkWidgetConvertible {
    /// Loads an image for any widget: a closure receives the paintable that shows it, once, and hands it to whatever
    /// property of the widget takes a GdkPaintable *.
    ///
    ///     image.bindImage(with: url) { paintable in
    ///         gtk_image_set_from_paintable(native, OpaquePointer(paintable.nativePaintablePointer))
    ///     }
    /// - Parameters:
    ///   - source: The URL or the ImageRequest to load. An image is decoded at the size of the widget times its scale
    ///     factor, so that it covers the widget, unless the request names a size.
    ///   - key: The purpose of the image within the widget. Default: ``OperationKey/image``.
    ///   - placeholder: The stand-in until there is an image.
    ///   - loading: Whether partial images are shown. Default: as the request says.
    ///   - retry: Whether a URL that failed before is loaded again. Default: as the request says.
    ///   - options: What concerns the widget rather than the image.
    ///   - transformer: The transformer that changes the image before it is shown. Default: that of the request.
    ///   - manager: The manager that loads. Default: the shared one.
    ///   - setPaintable: Puts the paintable into the widget. Called within the first call for a key.
    ///   - completion: Called exactly once, after the image is in place or has failed.
    /// - Returns: The load.
    @discardableResult
    public func bindImage(
        with source: (some ImageRequestConvertible)?,
        key: OperationKey = .image,
        placeholder: Placeholder? = nil,
        loading: ImageRequest.Loading? = nil,
        retry: ImageRequest.Retry? = nil,
        options: BindingOptions = BindingOptions(),
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        setPaintable: (ImagePaintable) -> Void,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        let slot = slots.slot(for: key) {
            let target = ClosureTarget(widget: slots.widget)
            setPaintable(target.paintable)
            return target
        }
        let request = BindingRequest(
            source?.imageRequest,
            placeholder: placeholder,
            loading: loading,
            retry: retry,
            options: options,
            transformer: transformer,
            manager: manager
        )
        return slot.set(request, completion)
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The side of a GtkImage's image in application pixels (GtkImage:pixel-size, GtkIconSize).
    fileprivate var imageSize: Int {
        let size = Int(gtk_image_get_pixel_size(OpaquePointer(self)))
        if size > 0 { return size }
        return gtk_image_get_icon_size(OpaquePointer(self)) == GTK_ICON_SIZE_LARGE ? 32 : 16
    }
}
