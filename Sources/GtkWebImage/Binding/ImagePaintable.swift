internal import CWebImageGtk4
public import WebImageCore
import WebImageLinux

/// The one paintable that a bound widget has for good: it shows the placeholder, then partial images, then the
/// image, the way from one to the other, and an indicator over them.
///
/// Its size is the logical one of the image from the moment that is known, whatever size the pixels were decoded at,
/// so the widget is laid out once. Any consumer of GdkPaintable can draw it: one that is bound itself needs no widget.
///
///     let paintable = ImagePaintable()
///     paintable.setImage(with: url)          // drawn by a GtkDrawingArea, an AdwStatusPage, several widgets ...
///
/// Main thread only, as GTK is.
@MainActor
public final class ImagePaintable: ImageBindable {
    /// Kept alive by the GObject, which in turn is kept by this and by the widgets that show it.
    let content: PaintableContent
    private let owned: GObjectBox

    /// Makes a paintable that shows nothing and has no size.
    public init() {
        content = PaintableContent()
        owned = GObjectBox(adopting: UnsafeMutableRawPointer(content.native))
    }

    /// The GdkPaintable. A caller that keeps it takes a reference (g_object_ref).
    public var nativePaintablePointer: UnsafeMutableRawPointer { UnsafeMutableRawPointer(content.native) }

    /// The image that is shown, whole or partial; nil while a placeholder or nothing is.
    public var image: WebImage? { content.image }

    /// Plays the image that is shown; nil unless it is animated.
    public var animationPlayer: AnimationPlayer? { content.player }

    /// Shows an image instead of whatever is shown.
    /// - Parameters:
    ///   - image: What is shown from now on.
    ///   - transition: How the one gives way to the other. Default: at once.
    public func show(_ image: WebImage, transition: ImageTransition? = nil) {
        content.show(image, transition: transition)
    }

    /// Shows a placeholder instead of whatever is shown; with nil, nothing.
    public func show(_ placeholder: Placeholder?) {
        content.show(placeholder)
    }

    /// What its images are bound to.
    public var imageBinding: ImageBinding {
        ImageBinding(nativePaintablePointer, .image) { [content] _ in StandaloneTarget(content) }
    }
}
