internal import CWebImageGtk4
import WebImageCore

/// The destination of a slot's images: a paintable, and the place in a widget that shows it.
@MainActor
protocol SlotTarget: AnyObject {
    /// The content of the paintable that shows the images of this slot.
    var content: PaintableContent? { get }
    /// Called before each load, because the app may have changed the widget since the last one.
    func prepare()
    /// Puts the paintable into the widget unless it is already there. Called before the paintable changes. It changes even if the
    /// widget does not show it, because a later load may put it back.
    /// - Returns: Whether the widget shows the paintable; `false` if the app has replaced it.
    @discardableResult func attach() -> Bool
    /// Called after the paintable has changed.
    func changed()
    /// The widget that draws the image and whose size counts.
    var area: UnsafeMutablePointer<GtkWidget>? { get }
    /// Whether the widget still has ``area``, which may be a child that the app has replaced.
    var hasArea: Bool { get }
    /// The size to decode at, in pixels; `nil` while the widget has none.
    /// - Parameter scale: The device scale of the widget.
    func decodeSize(scale: Double) -> DecodeSize?
    /// The image on display.
    var image: WebImage? { get }
    /// The size of the place in application pixels; `nil` for the size of the image.
    var fixedSize: (width: Int, height: Int)? { get set }
}

extension SlotTarget {
    func prepare() {}
    func changed() {}
    func decodeSize() -> DecodeSize? { decodeSize(scale: area?.deviceScale ?? 1) }
    var hasArea: Bool { true }
    var fixedSize: (width: Int, height: Int)? {
        get { nil }
        set { reportFixedSize(newValue) }
    }
    func reportFixedSize(_ size: (width: Int, height: Int)?) {
        guard size != nil else { return }
        WebImageLog.mistake(
            "setFixedSize(width:height:) has no effect on this widget. Set a size of the widget itself, such as AdwAvatar:size."
        )
    }
    var image: WebImage? { content?.image }
}
