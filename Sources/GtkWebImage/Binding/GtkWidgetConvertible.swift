import WebImageCore

/// A GTK widget of any binding: any type that knows the address of its GtkWidget.
///
/// Conform the classes of your binding to ``PictureBindable``, ``ButtonBindable``, ``EntryBindable`` or
/// ``WidgetBindable``, in one line each.
@preconcurrency @MainActor
public protocol GtkWidgetConvertible {
    /// The `GtkWidget *`. The library uses it within a call and keeps only weak references.
    var nativeWidgetPointer: UnsafeMutableRawPointer { get }
}

extension GtkWidgetConvertible {
    /// Returns the widget for a call of GTK, as the type that the call asks for:
    ///
    ///     gtk_box_append(box, picture.native())
    ///
    /// The type must be that of the widget's class or of one of its parents, such as `GtkWidget`.
    public func native<GtkType>() -> UnsafeMutablePointer<GtkType> {
        nativeWidgetPointer.assumingMemoryBound(to: GtkType.self)
    }

    /// Returns the widget for a call of GTK whose type Swift does not import, such as one that takes a `GtkPicture *`.
    public func native() -> OpaquePointer { OpaquePointer(nativeWidgetPointer) }

    /// The loads of the widget and of all widgets within it, and those under each operation key.
    public var images: WidgetImages { WidgetImages(widget: nativeWidgetPointer) }

    /// Returns the place of an image in a widget of any kind. A closure receives the paintable that shows the image, once, and
    /// hands it to a property of the widget that takes a `GdkPaintable *`.
    ///
    ///     let binding = image.imageBinding(for: .image) { paintable in
    ///         gtk_image_set_from_paintable(image.native(), paintable.nativePaintable)
    ///     }
    ///     binding.setImage(with: url)
    ///
    /// An image is decoded at the size of the widget times its scale factor, so that it covers the widget, unless the request names
    /// a size.
    /// - Parameters:
    ///   - key: The purpose of the image within the widget.
    ///   - setPaintable: Puts the paintable into the widget. Called within the first call for a key. Set images on the
    ///     binding that is returned, and none on the paintable itself.
    public func imageBinding(
        for key: OperationKey,
        setPaintable: @MainActor (ImagePaintable) -> Void
    ) -> ImageBinding {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        _ = slots.slot(for: key) {
            let target = ClosureTarget(widget: slots.widget)
            setPaintable(target.paintable)
            return target
        }
        return ImageBinding(nativeWidgetPointer, key, in: .handedOut)
    }
}
