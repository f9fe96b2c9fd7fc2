internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// A widget with one child, such as a button, that shows the image in a GtkPicture.
@MainActor
final class ChildTarget: SlotTarget {
    private let widget: WidgetReference
    private let child: ImageChild
    private let target: PictureTarget

    /// - Parameter child: The child that all states of the widget share.
    init(widget: WidgetReference, child: ImageChild, state: ButtonImageState) {
        self.widget = widget
        self.child = child
        target = PictureTarget(child.presenter, state)
        target.parent = widget
    }

    var content: PaintableContent? { target.content }
    var area: UnsafeMutablePointer<GtkWidget>? { target.area }
    var hasArea: Bool { child.isIn(widget) }
    func prepare() { child.put(into: widget) }
    func attach() -> Bool { child.isIn(widget) && target.attach() }
    func changed() { target.changed() }
    var fixedSize: (width: Int, height: Int)? {
        get { child.presenter.fixedSize }
        set { child.setFixedSize(newValue) }
    }
    func decodeSize() -> DecodeSize? { child.isIn(widget) ? target.decodeSize() : nil }

    /// `nil` once the app has replaced the child, as gtk_button_set_label does.
    var image: WebImage? { child.isIn(widget) ? target.image : nil }
}

/// The GtkPicture in the `child` property of a widget.
@MainActor
final class ImageChild {
    let presenter: PicturePresenter
    private let owned: GObjectBox

    init() {
        let picture = UnsafeMutableRawPointer(gtk_picture_new()!)
        owned = GObjectBox(retaining: picture)
        presenter = PicturePresenter(picture: WidgetReference(picture))
    }

    /// Makes the GtkPicture the child of the widget, unless it already is.
    func put(into widget: WidgetReference) {
        guard !isIn(widget), let widget = widget.pointer, let picture = presenter.picture.pointer else { return }
        UnsafeMutableRawPointer(widget).setObjectProperty("child", UnsafeMutableRawPointer(picture))
    }

    /// Gives the child a size, which it keeps if the widget is larger.
    func setFixedSize(_ size: (width: Int, height: Int)?) {
        presenter.fixedSize = size
        guard let picture = presenter.picture.pointer else { return }
        gtk_widget_set_halign(picture, size == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
        gtk_widget_set_valign(picture, size == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
    }

    func isIn(_ widget: WidgetReference) -> Bool {
        guard let widget = widget.pointer, let picture = presenter.picture.pointer,
            let child = UnsafeMutableRawPointer(widget).objectProperty("child")
        else { return false }
        if child == UnsafeMutableRawPointer(picture) { return true }
        // GtkScrolledWindow wraps a widget that cannot scroll in a viewport.
        return child.isInstance(of: gtk_viewport_get_type())
            && gtk_widget_get_parent(picture).map { $0 == child } ?? false
    }
}
