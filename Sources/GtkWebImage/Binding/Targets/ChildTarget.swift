internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// A widget with room for one child, a button say, that shows the library's paintable in a GtkPicture of its own.
@MainActor
final class ChildTarget: SlotTarget {
    private let widget: WidgetReference
    private let child: ImageChild
    private let target: PictureTarget

    /// - Parameter child: Shared by the states of the widget.
    init(widget: WidgetReference, child: ImageChild, state: ImageState) {
        self.widget = widget
        self.child = child
        target = PictureTarget(child.host, state)
    }

    var content: PaintableContent? { target.content }
    var area: UnsafeMutablePointer<GtkWidget>? { target.area }
    func prepare() { child.put(into: widget) }
    func attach() -> Bool { child.isIn(widget) && target.attach() }
    func changed() { target.changed() }
    func decodeSize() -> DecodeSize? { child.isIn(widget) ? target.decodeSize() : nil }

    /// gtk_button_set_label and others drop our image; that is the app's word.
    var image: WebImage? { child.isIn(widget) ? target.image : nil }
}

/// The GtkPicture that is such a widget's child, as its property child has it.
@MainActor
final class ImageChild {
    let host: PicturePresenter
    private let owned: GObjectBox

    init() {
        let picture = UnsafeMutableRawPointer(gtk_picture_new()!)
        owned = GObjectBox(retaining: picture)
        host = PicturePresenter(picture: WidgetReference(picture))
    }

    /// Makes the image the widget's child, unless it is.
    func put(into widget: WidgetReference) {
        guard let widget = widget.pointer, let picture = host.picture.pointer,
            UnsafeMutableRawPointer(widget).objectProperty("child") != UnsafeMutableRawPointer(picture)
        else { return }
        UnsafeMutableRawPointer(widget).setObjectProperty("child", UnsafeMutableRawPointer(picture))
    }

    func isIn(_ widget: WidgetReference) -> Bool {
        guard let widget = widget.pointer, let picture = host.picture.pointer else { return false }
        return UnsafeMutableRawPointer(widget).objectProperty("child") == UnsafeMutableRawPointer(picture)
    }
}
