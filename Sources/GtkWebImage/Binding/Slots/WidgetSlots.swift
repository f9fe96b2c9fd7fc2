internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The slots of one widget, by operation key, and its places for images. They are attached to the widget as GObject data and
/// destroyed with it. A paintable that is bound without a widget also has slots.
///
/// They observe when the widget is mapped, unmapped and removed from its window, and hold no reference to it.
@MainActor
final class WidgetSlots {
    private static let quark = g_quark_from_string("gtk-web-image-slots")

    /// `nil` for a paintable.
    let widget: WidgetReference?
    /// The manager of all images of the widget; `nil` for the shared one.
    var manager: ImageManager?
    private(set) var slots: [OperationKey: ImageSlot] = [:]
    /// Loads that the app tied to the widget.
    var appTasks: [OperationKey: ImageTask] = [:]
    /// The target of a widget that is a GtkPicture, in its normal state. As with the next two, the targets of other states show
    /// their images through it.
    private lazy var picture = widget.map { PictureTarget($0) }
    /// The GtkPicture in a widget with one child.
    private lazy var child = widget.map { ChildPictureTarget(childOf: $0) }
    /// The GtkPicture behind the child of a button.
    private lazy var background = widget?.address.map { PictureTarget(behindChildOf: $0) }
    /// The targets that follow the states of the widget.
    var stateful: [PictureTarget] = []
    /// `.highlighted` is not among the GtkStateFlags, so it is tracked here.
    var isHighlighted = false {
        didSet { if isHighlighted != oldValue { updateStates() } }
    }
    /// Created for the first image that loads.
    private(set) lazy var accessibility = widget.map { WidgetAccessibility($0) }
    var listensToClicks = false
    private var followsWindow = false

    private init(_ widget: WidgetReference?) {
        self.widget = widget
    }

    deinit {
        for task in appTasks.values { task.cancel() }
    }

    static func existing(of object: UnsafeMutableRawPointer) -> WidgetSlots? {
        let object = object.assumingMemoryBound(to: GObject.self)
        return g_object_get_qdata(object, quark).map { Unmanaged<WidgetSlots>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(_ object: UnsafeMutableRawPointer) -> WidgetSlots {
        // The slots are released when the widget is finalized, and cancel their loads in deinit.
        object.companion(quark) {
            let isWidget = object.isInstance(of: gtk_widget_get_type())
            let slots = WidgetSlots(isWidget ? WidgetReference(object) : nil)
            guard isWidget else { return slots }
            WindowMonitor.start()
            object.connect("unmap") { [weak slots] in
                slots?.followWindow()
                slots?.forEach { $0.widgetUnmapped() }
            }
            if gtk_widget_get_mapped(object.assumingMemoryBound(to: GtkWidget.self)) == 0 { slots.followWindow() }
            return slots
        }
    }

    func existingSlot(for key: OperationKey) -> ImageSlot? { slots[key] }

    /// Returns the slot of a place, ready for another image: its target is in place, and a load that the app has tied to the
    /// key is cancelled.
    func preparedSlot(for key: OperationKey, in place: ImagePlace) -> ImageSlot {
        if !appTasks.isEmpty { appTasks.removeValue(forKey: key)?.cancel() }
        let slot = slot(for: key, in: place)
        slot.target.prepare()
        return slot
    }

    /// Returns the slot of a place, created if there is none yet.
    func slot(for key: OperationKey, in place: ImagePlace) -> ImageSlot {
        slot(for: key) {
            switch (place, widget) {
            case (.application, _): ApplicationIconTarget()
            case (.paintable(let content), _): StandaloneTarget(content)
            case (.handedOut, _): preconditionFailure("The slot was made when the paintable was handed out")
            case (.image(let state), let widget?): makeImageTarget(for: state, in: widget)
            case (.background(let state), _?): makeBackgroundTarget(for: state)
            case (.icon(let position), let widget?): makeIconTarget(at: position, in: widget)
            case (_, nil): preconditionFailure("The object is not a GtkWidget")
            }
        }
    }

    /// Returns the slot of a key, created with `makeTarget` if there is none yet.
    func slot(for key: OperationKey, _ makeTarget: () -> any SlotTarget) -> ImageSlot {
        if let slot = slots[key] { return slot }
        let target = makeTarget()
        // The icon of a window is not part of the content of the window.
        let slot = ImageSlot(target, widget, isContent: !(target is WindowIconTarget))
        slots[key] = slot
        return slot
    }

    func forEach(_ body: (ImageSlot) -> Void) {
        MainThreadMeter.measure { slots.values.forEach(body) }
    }

    /// Observes the widget from when it is off screen for the first time. It is unmapped before it leaves its window, so until then one
    /// signal is enough.
    private func followWindow() {
        guard !followsWindow, let pointer = widget?.pointer else { return }
        followsWindow = true
        let object = UnsafeMutableRawPointer(pointer)
        object.connect("map") { [weak self] in self?.forEach { $0.widgetMapped() } }
        object.connect("notify::root") { [weak self] in self?.rootChanged() }
    }

    private func rootChanged() {
        guard let pointer = widget?.pointer, gtk_widget_get_root(pointer) == nil else { return }
        // Reparenting passes through a state without a root, which ends before the next turn of the main loop.
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated {
                guard let self, let pointer = self.widget?.pointer, gtk_widget_get_root(pointer) == nil else { return }
                self.forEach { $0.widgetUnrooted() }
            }
        }
    }
}

// The targets of the places.
extension WidgetSlots {
    /// Creates the target that suits the kind of the widget.
    ///
    /// A widget with a GdkPaintable property named `paintable` or `custom-image`, or with a `child`, needs no code
    /// here. Any other kind needs a line in this function, a type in Targets that implements ``SlotTarget`` (unless
    /// ``PropertyTarget`` or ``PictureTarget`` fits), and a scenario in WidgetKindScenarios.
    private func makeImageTarget(for state: ButtonImageState, in widget: WidgetReference) -> any SlotTarget {
        guard let object = widget.address else { preconditionFailure("The widget was destroyed") }
        if object.isInstance(of: gtk_picture_get_type()), let picture { return target(for: state, in: picture) }
        if object.isInstance(of: gtk_image_get_type()) {
            return PropertyTarget(widget: widget, property: "paintable") { $0.imageSize }
        }
        if object.isInstance(of: gtk_window_get_type()) { return WindowIconTarget(window: widget) }
        if object.isInstance(of: gtk_entry_get_type()) { return makeIconTarget(at: .primary, in: widget) }
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
        guard object.hasProperty("child", of: gtk_widget_get_type()), let child else {
            let type = String(cString: g_type_name_from_instance(object.assumingMemoryBound(to: GTypeInstance.self)))
            preconditionFailure("\(type) takes neither a paintable nor a child. Use imageBinding(for:setPaintable:).")
        }
        return target(for: state, in: child)
    }

    private func makeIconTarget(at position: EntryIconPosition, in widget: WidgetReference) -> any SlotTarget {
        PropertyTarget(widget: widget, property: "\(position)-icon-paintable") { _ in 16 }
    }

    private func makeBackgroundTarget(for state: ButtonImageState) -> any SlotTarget {
        guard let background else { preconditionFailure("The widget was destroyed") }
        return target(for: state, in: background)
    }

    private func target(for state: ButtonImageState, in picture: PictureTarget) -> PictureTarget {
        state == .normal ? picture : makeStateTarget(for: state, in: picture)
    }
}
