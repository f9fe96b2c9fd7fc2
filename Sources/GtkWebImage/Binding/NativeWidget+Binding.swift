internal import CWebImageGtk4
public import FoundationEssentials
public import WebImageCore
public import WebImageLinux

extension NativeWidget {
    /// Loads a picture for any widget: a closure receives the paintable that shows it, once, and hands it to whatever
    /// property of the widget takes a `GdkPaintable *`.
    ///
    ///     image.bindImage(with: url) { paintable in
    ///         gtk_image_set_from_paintable(native, OpaquePointer(paintable.nativePaintablePointer))
    ///     }
    /// - Parameters:
    ///   - url: Where the picture is; `nil` shows the placeholder.
    ///   - key: The purpose of the picture within the widget. Default: ``OperationKey/image``.
    ///   - size: The size to decode at, in pixels. Default: that of the widget times its scale factor, to be covered.
    ///   - placeholder: Shown until there is something better.
    ///   - options: See ``ImageOptions``.
    ///   - transformer: Changes the picture before it is shown.
    ///   - manager: Loads it. Default: the shared one.
    ///   - setPaintable: Puts the paintable into the widget. Called within the first call for a key.
    ///   - completion: Called exactly once, when the picture is in place or has failed.
    /// - Returns: The load, to cancel it.
    @discardableResult
    public func bindImage(
        with url: URL?,
        key: OperationKey = .image,
        size: DecodeSize? = nil,
        placeholder: Placeholder? = nil,
        options: ImageOptions = [],
        transformer: ImageTransformer? = nil,
        manager: ImageManager = .shared,
        setPaintable: (ImagePaintable) -> Void,
        completion: (@MainActor @Sendable (Result<ImageResponse, ImageError>) -> Void)? = nil
    ) -> ImageLoad {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        let slot = slots.slot(for: key) {
            let target = WidgetTarget(size: size)
            setPaintable(target.paintable)
            return target
        }
        let request = SlotRequest(url, placeholder, options, transformer, manager)
        return slot.set(request, completion)
    }
}

/// A widget that was handed the paintable by a closure of the app's.
@MainActor
private final class WidgetTarget: SlotTarget {
    let paintable = ImagePaintable()
    private let size: DecodeSize?
    var onOutgrown: (() -> Void)?

    init(size: DecodeSize?) {
        self.size = size
    }

    var image: WebImage? { paintable.image }
    func show(_ image: WebImage) { paintable.show(image) }
    func show(_ placeholder: Placeholder?) { paintable.show(placeholder) }

    func decodeSize(in widget: UnsafeMutablePointer<GtkWidget>) -> DecodeSize? {
        if let size { return size }
        let scale = Int(gtk_widget_get_scale_factor(widget))
        let width = Int(gtk_widget_get_width(widget)) * scale
        let height = Int(gtk_widget_get_height(widget)) * scale
        return width > 1 && height > 1 ? .fill(PixelSize(width: width, height: height)) : nil
    }
}
