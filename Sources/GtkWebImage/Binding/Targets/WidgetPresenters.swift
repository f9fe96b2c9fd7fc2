internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The presenters of one widget: a GtkPicture for each of its places, shared by all states of the widget.
@MainActor
final class WidgetPresenters {
    let widget: WidgetReference
    /// The presenter of a widget that is a GtkPicture.
    private lazy var picture = PicturePresenter(picture: widget)
    /// The GtkPicture in a widget with one child.
    private lazy var child = PicturePresenter(childOf: widget)
    /// The GtkPicture behind the child of a button.
    private lazy var background = widget.address.map { PicturePresenter(behindChildOf: $0) }
    /// The presenters that follow the states of the widget.
    private var stateful: [PicturePresenter] = []
    /// `.highlighted` is not among the GtkStateFlags, so it is tracked here.
    var isHighlighted = false {
        didSet { if isHighlighted != oldValue { updateStates() } }
    }

    init(_ widget: WidgetReference) {
        self.widget = widget
    }

    /// Creates the target that suits the kind of the widget.
    ///
    /// A widget with a GdkPaintable property named `paintable` or `custom-image`, or with a `child`, needs no code
    /// here. Any other kind needs a line in this function, a type in this folder that implements ``SlotTarget`` (unless
    /// ``PropertyTarget`` or ``PictureTarget`` fits), and a scenario in WidgetKindScenarios.
    func makeImageTarget(for state: ButtonImageState) -> any SlotTarget {
        guard let native = widget.pointer else { preconditionFailure("The widget was destroyed") }
        let object = UnsafeMutableRawPointer(native)
        if object.isInstance(of: gtk_picture_get_type()) {
            if state != .normal { follow(picture) }
            return PictureTarget(picture, state)
        }
        if object.isInstance(of: gtk_image_get_type()) {
            return PropertyTarget(widget: widget, property: "paintable") { $0.imageSize }
        }
        if object.isInstance(of: gtk_window_get_type()) { return WindowIconTarget(window: widget) }
        if object.isInstance(of: gtk_entry_get_type()) { return makeIconTarget(at: .primary) }
        for property in ["custom-image", "paintable"]
        where object.hasProperty(property, of: gdk_paintable_get_type()) {
            // An AdwAvatar without a custom image shows its initials or its icon.
            return PropertyTarget(
                widget: widget,
                property: property,
                isWithdrawnWithoutSize: property == "custom-image",
                iconSize: nil
            )
        }
        guard object.hasProperty("child", of: gtk_widget_get_type()) else {
            let type = String(cString: g_type_name_from_instance(object.assumingMemoryBound(to: GTypeInstance.self)))
            preconditionFailure("\(type) takes neither a paintable nor a child. Use imageBinding(for:setPaintable:).")
        }
        if state != .normal { follow(child) }
        return PictureTarget(child, state)
    }

    func makeIconTarget(at position: EntryIconPosition) -> any SlotTarget {
        PropertyTarget(widget: widget, property: "\(position)-icon-paintable") { _ in 16 }
    }

    func makeBackgroundTarget(for state: ButtonImageState) -> any SlotTarget {
        guard let background else { preconditionFailure("The widget was destroyed") }
        follow(background)
        let target = PictureTarget(background, state)
        target.content?.hasSize = false
        return target
    }

    /// Updates a presenter when the states of the widget change.
    private func follow(_ presenter: PicturePresenter) {
        guard !stateful.contains(where: { $0 === presenter }), let pointer = widget.pointer else { return }
        stateful.append(presenter)
        if stateful.count == 1 {
            UnsafeMutableRawPointer(pointer).connect("state-flags-changed") { [weak self] in
                self?.updateStates()
            }
        }
        updateStates()
    }

    private func updateStates() {
        guard let pointer = widget.pointer else { return }
        var states = ButtonImageState.states(of: gtk_widget_get_state_flags(pointer).rawValue)
        if isHighlighted { states.insert(.highlighted, at: 0) }
        for presenter in stateful { presenter.states = states }
    }
}

extension UnsafeMutablePointer<GtkWidget> {
    /// The side of the image of a GtkImage in application pixels (GtkImage:pixel-size, GtkIconSize).
    fileprivate var imageSize: Int {
        let size = Int(gtk_image_get_pixel_size(OpaquePointer(self)))
        if size > 0 { return size }
        return gtk_image_get_icon_size(OpaquePointer(self)) == GTK_ICON_SIZE_LARGE ? 32 : 16
    }
}
