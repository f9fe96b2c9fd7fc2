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
    /// Returns the address of the widget as the pointer type that a GTK function asks for:
    ///
    ///     gtk_box_append(box, picture.native())
    ///
    /// The type must be the class of the widget or one of its parent classes, such as `GtkWidget`.
    public func native<GtkType>() -> UnsafeMutablePointer<GtkType> {
        nativeWidgetPointer.assumingMemoryBound(to: GtkType.self)
    }

    /// Returns the address of the widget for a GTK function whose type Swift does not import, such as `GtkPicture *`.
    public func native() -> OpaquePointer { OpaquePointer(nativeWidgetPointer) }

    /// The loads of the widget and of all widgets within it, to cancel or suspend them together.
    public var images: WidgetImages { WidgetImages(widget: nativeWidgetPointer) }

    /// Returns the binding of an image in a widget of any kind that accepts a `GdkPaintable *`. A closure receives the paintable
    /// that shows the image, once, and sets it as a property of the widget.
    ///
    ///     let binding = image.imageBinding(for: .image) { paintable in
    ///         gtk_image_set_from_paintable(image.native(), paintable)
    ///     }
    ///     binding.setImage(with: url)
    ///
    /// An image is decoded at the size of the widget times its scale factor, so that it covers the widget, unless the request names
    /// a size.
    /// - Parameters:
    ///   - key: The purpose of the image within the widget. `.image` is the key of the widget's own `setImage(with:)`, so use one of both.
    ///   - setPaintable: Puts the `GdkPaintable *` into the widget. Called within the first call for a key.
    public func imageBinding(
        for key: OperationKey,
        setPaintable: @MainActor (_ paintable: OpaquePointer) -> Void
    ) -> ImageBinding {
        let slots = WidgetSlots.of(nativeWidgetPointer)
        _ = slots.slot(for: key) {
            let target = ClosureTarget(widget: slots.widget)
            setPaintable(target.paintable.nativePaintable)
            return target
        }
        return ImageBinding(nativeWidgetPointer, key, in: .handedOut)
    }
}
