internal import CWebImageGtk4
import WebImageCore

/// A GtkButton that shows the library's paintable in a GtkPicture of its own.
@MainActor
final class ButtonTarget: SlotTarget {
    private let button: WidgetReference
    private var child: (reference: WidgetReference, target: PaintableTarget)?
    var onOutgrown: (() -> Void)? {
        didSet { child?.target.onOutgrown = onOutgrown }
    }

    init(button: WidgetReference) {
        self.button = button
    }

    /// Makes the picture the button's child, unless it is.
    func prepare() {
        guard let button = button.pointer, currentChild == nil else { return }
        let picture = gtk_picture_new()!
        let reference = WidgetReference(UnsafeMutableRawPointer(picture))
        let target = PaintableTarget(picture: reference)
        target.onOutgrown = onOutgrown
        child = (reference, target)
        UnsafeMutableRawPointer(button).withMemoryRebound(to: GtkButton.self, capacity: 1) {
            gtk_button_set_child($0, picture)
        }
    }

    var image: WebImage? { currentChild?.image }

    func show(_ image: WebImage) {
        currentChild?.show(image)
    }

    func show(_ placeholder: Placeholder?) {
        currentChild?.show(placeholder)
    }

    func decodeSize(in widget: UnsafeMutablePointer<GtkWidget>) -> DecodeSize? {
        currentChild?.decodeSize(in: widget)
    }

    /// Our picture, while it is the child. `gtk_button_set_label` and others drop it; that is the app's word.
    private var currentChild: PaintableTarget? {
        guard let button = button.pointer, let child, let picture = child.reference.pointer else { return nil }
        let current = UnsafeMutableRawPointer(button).withMemoryRebound(to: GtkButton.self, capacity: 1) {
            gtk_button_get_child($0)
        }
        return current == picture ? child.target : nil
    }
}
