internal import CWebImageGtk4
import WebImageCore

/// One GtkPicture and the paintables of the states of its widget: it shows that of the present state if there is
/// something in it, else the one of the normal state.
@MainActor
final class PictureHost {
    /// The GtkPicture.
    let picture: WidgetReference
    private var paintables: [ImageState: ImagePaintable] = [:]
    /// The states that the widget is in besides the normal one, what counts most first.
    var states: [ImageState] = [] {
        didSet { if states != oldValue { update() } }
    }

    init(picture: WidgetReference) {
        self.picture = picture
    }

    func paintable(for state: ImageState) -> ImagePaintable {
        if let paintable = paintables[state] { return paintable }
        let paintable = ImagePaintable()
        paintables[state] = paintable
        return paintable
    }

    /// Shows what is to be shown. Setting the same paintable again does nothing; the app may have set another one.
    func update() {
        guard let picture = picture.pointer else { return }
        let current = states.lazy.compactMap { self.paintables[$0] }.first { !$0.content.isEmpty }
        guard let shown = current ?? paintables[.normal] else { return }
        let native = OpaquePointer(shown.nativePaintablePointer)
        if gtk_picture_get_paintable(OpaquePointer(picture)) != native {
            gtk_picture_set_paintable(OpaquePointer(picture), native)
        }
    }
}
