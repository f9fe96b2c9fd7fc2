internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// Shows one of several paintables in a GtkPicture: the paintable of the widget's current state if it has an image,
/// else that of the normal state.
@MainActor
final class PicturePresenter {
    /// The GtkPicture.
    let picture: WidgetReference
    /// The widget whose `child` the GtkPicture is; `nil` for another place.
    let parent: WidgetReference?
    /// Keeps the GtkPicture while the app has replaced the child.
    private let owned: GObjectBox?
    /// The paintable of the normal state, the only one of most widgets.
    private var normal: ImagePaintable?
    private var others: [ButtonImageState: ImagePaintable] = [:]
    /// The states of the widget except the normal one, in descending precedence.
    var states: [ButtonImageState] = [] {
        didSet { if states != oldValue { update() } }
    }

    init(picture: WidgetReference) {
        (self.picture, parent, owned) = (picture, nil, nil)
    }

    /// Creates a GtkPicture for the `child` property of a widget, such as a button.
    init(childOf parent: WidgetReference) {
        let picture = UnsafeMutableRawPointer(gtk_picture_new()!)
        (self.picture, self.parent, owned) = (WidgetReference(picture), parent, GObjectBox(retaining: picture))
    }

    /// Whether the app has not replaced the child.
    var isInPlace: Bool {
        guard let parent else { return true }
        guard let parent = parent.pointer, let picture = picture.address,
            let child = UnsafeMutableRawPointer(parent).objectProperty("child")
        else { return false }
        if child == picture { return true }
        // GtkScrolledWindow wraps a widget that cannot scroll in a viewport.
        return child.isInstance(of: gtk_viewport_get_type())
            && gtk_widget_get_parent(picture.assumingMemoryBound(to: GtkWidget.self)).map { $0 == child } ?? false
    }

    /// Makes the GtkPicture the child of its widget, unless it already is.
    func put() {
        guard !isInPlace, let parent = parent?.address, let picture = picture.address else { return }
        parent.setObjectProperty("child", picture)
    }

    /// Adds the paintable of a state.
    func add(_ paintable: ImagePaintable, for state: ButtonImageState) {
        if state == .normal { normal = paintable } else { others[state] = paintable }
    }

    /// The size of the GtkPicture in application pixels, regardless of its content; `nil` for the size of its image.
    /// A child keeps it if its widget is larger.
    ///
    /// If it had only a size request, the GtkPicture would also request the size of its image, and the width that fits each
    /// height. This layout manager requests nothing, so that only the size request counts.
    var fixedSize: (width: Int, height: Int)? {
        didSet {
            guard let picture = picture.pointer else { return }
            if oldValue == nil {
                var (width, height) = (Int32(0), Int32(0))
                gtk_widget_get_size_request(picture, &width, &height)
                ownRequest = (width, height)
            }
            let measure: GtkCustomMeasureFunc = { _, _, _, minimum, natural, minimumBaseline, naturalBaseline in
                minimum?.pointee = 0
                natural?.pointee = 0
                minimumBaseline?.pointee = -1
                naturalBaseline?.pointee = -1
            }
            let allocate: GtkCustomAllocateFunc = { _, _, _, _ in }
            gtk_widget_set_layout_manager(
                picture,
                fixedSize == nil ? nil : gtk_custom_layout_new(nil, measure, allocate)
            )
            let size = fixedSize.map { (width: Self.side($0.width), height: Self.side($0.height)) } ?? ownRequest
            gtk_widget_set_size_request(picture, size.width, size.height)
            guard parent != nil else { return }
            gtk_widget_set_halign(picture, fixedSize == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
            gtk_widget_set_valign(picture, fixedSize == nil ? GTK_ALIGN_FILL : GTK_ALIGN_CENTER)
        }
    }

    /// The size request of the app.
    private var ownRequest: (width: Int32, height: Int32) = (-1, -1)

    /// GTK cannot lay out longer sides.
    private static func side(_ length: Int) -> Int32 { Int32(min(max(length, 0), 1 << 15)) }

    /// Whether the contents of the paintables decide which one is shown.
    var hasStates: Bool { !others.isEmpty }

    /// Sets the paintable of the current state, unless the GtkPicture already has it.
    func update() {
        guard let picture = picture.pointer else { return }
        var shown = normal
        if !others.isEmpty,
            let other = states.lazy.compactMap({ self.others[$0] }).first(where: { !$0.content.isEmpty })
        {
            shown = other
        }
        guard let shown else { return }
        let native = shown.nativePaintable
        if gtk_picture_get_paintable(OpaquePointer(picture)) != native {
            gtk_picture_set_paintable(OpaquePointer(picture), native)
        }
    }
}
