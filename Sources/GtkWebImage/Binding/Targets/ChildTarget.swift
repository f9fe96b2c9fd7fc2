internal import CWebImageGtk4
import WebImageCore

/// A widget with room for one child, a button say, that shows the library's paintable in a GtkPicture of its own.
@MainActor
final class ChildTarget: SlotTarget {
    private let widget: WidgetReference
    private let child: PictureChild
    private let target: PaintableTarget

    /// - Parameter child: Shared by the states of the widget.
    init(widget: WidgetReference, child: PictureChild, state: ImageState) {
        self.widget = widget
        self.child = child
        target = PaintableTarget(child.host, state)
    }

    var content: PaintableContent? { target.content }
    var area: UnsafeMutablePointer<GtkWidget>? { target.area }
    func prepare() { child.put(into: widget) }
    func attach() -> Bool { child.isIn(widget) && target.attach() }
    func changed() { target.changed() }
    func decodeSize() -> DecodeSize? { child.isIn(widget) ? target.decodeSize() : nil }

    /// `gtk_button_set_label` and others drop our picture; that is the app's word.
    var image: WebImage? { child.isIn(widget) ? target.image : nil }
}

/// The GtkPicture that is such a widget's child, as its property `child` has it.
@MainActor
final class PictureChild {
    let host: PictureHost
    private let owned: GObjectReference

    init() {
        let picture = UnsafeMutableRawPointer(gtk_picture_new()!)
        g_object_ref_sink(picture)
        owned = GObjectReference(picture)
        host = PictureHost(picture: WidgetReference(picture))
    }

    deinit {
        owned.releaseOnMainThread()
    }

    /// Makes the picture the widget's child, unless it is.
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
