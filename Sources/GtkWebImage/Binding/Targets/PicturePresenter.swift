internal import CWebImageGtk4
import WebImageCore

/// One GtkPicture and the paintables of the states of its widget: it shows that of the present state if there is
/// something in it, else the one of the normal state.
@MainActor
final class PicturePresenter {
    /// The GtkPicture.
    let picture: WidgetReference
    /// Most widgets have no other.
    private var normal: ImagePaintable?
    private var others: [ImageState: ImagePaintable] = [:]
    /// The states that the widget is in besides the normal one, what counts most first.
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

    /// Whether what is in the paintables decides which one is shown.
    var hasStates: Bool { !others.isEmpty }

    /// Shows what is to be shown. Setting the same paintable again does nothing; the app may have set another one.
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
