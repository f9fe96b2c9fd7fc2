internal import CWebImageGtk4
import WebImageCore

/// Shows one of several paintables in a GtkPicture: that of the present state of the widget if it has an image, else
/// that of the normal state.
@MainActor
final class PicturePresenter {
    /// The GtkPicture.
    let picture: WidgetReference
    /// The paintable of the normal state, the only one of most widgets.
    private var normal: ImagePaintable?
    private var others: [ImageState: ImagePaintable] = [:]
    /// The states of the widget besides the normal one, in descending precedence.
    var states: [ImageState] = [] {
        didSet { if states != oldValue { update() } }
    }

    init(picture: WidgetReference) {
        self.picture = picture
    }

    func paintable(for state: ImageState) -> ImagePaintable {
        if let paintable = state == .normal ? normal : others[state] { return paintable }
        let paintable = ImagePaintable()
        if state == .normal { normal = paintable } else { others[state] = paintable }
        return paintable
    }

    /// Whether the contents of the paintables decide which one is shown.
    var hasStates: Bool { !others.isEmpty }

    /// Sets the paintable of the present state, unless the GtkPicture has it already.
    func update() {
        guard let picture = picture.pointer else { return }
        var shown = normal
        if !others.isEmpty,
            let other = states.lazy.compactMap({ self.others[$0] }).first(where: { !$0.content.isEmpty })
        {
            shown = other
        }
        guard let shown else { return }
        let native = OpaquePointer(shown.nativePaintablePointer)
        if gtk_picture_get_paintable(OpaquePointer(picture)) != native {
            gtk_picture_set_paintable(OpaquePointer(picture), native)
        }
    }
}
