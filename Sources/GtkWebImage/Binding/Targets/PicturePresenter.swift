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

    /// Gives the GtkPicture a size, whatever it shows. It would also ask for the size of its image otherwise, and for the width that
    /// goes with each height: its layout manager asks for nothing, so that the size request is all.
    func setFixedSize(_ size: (width: Int, height: Int)?) {
        guard let picture = picture.pointer else { return }
        let measure: GtkCustomMeasureFunc = { _, _, _, minimum, natural, minimumBaseline, naturalBaseline in
            minimum?.pointee = 0
            natural?.pointee = 0
            minimumBaseline?.pointee = -1
            naturalBaseline?.pointee = -1
        }
        gtk_widget_set_layout_manager(
            picture,
            size == nil ? nil : gtk_custom_layout_new(nil, measure, { _, _, _, _ in })
        )
        let (width, height) = size.map { (Int32(clamping: $0.width), Int32(clamping: $0.height)) } ?? (-1, -1)
        gtk_widget_set_size_request(picture, max(width, -1), max(height, -1))
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
