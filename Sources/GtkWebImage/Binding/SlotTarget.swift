internal import CWebImageGtk4
import WebImageCore

/// Where the pictures of a slot go.
@MainActor
protocol SlotTarget: AnyObject {
    /// Called before each load: the app may have changed the widget since the last one.
    func prepare()
    /// Shows a picture, partial or whole.
    func show(_ image: WebImage)
    /// Shows a placeholder, or with `nil` nothing.
    func show(_ placeholder: Placeholder?)
    /// The picture that is shown.
    var image: WebImage? { get }
    /// The size to decode at, in pixels; `nil` while the widget has none.
    func decodeSize(in widget: UnsafeMutablePointer<GtkWidget>) -> DecodeSize?
    /// Told when a picture is drawn larger than it was decoded.
    var onOutgrown: (() -> Void)? { get set }
}

extension SlotTarget {
    func prepare() {}
}
