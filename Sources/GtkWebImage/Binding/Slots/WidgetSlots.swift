internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The loads of one widget, by key. Hangs on the widget as GObject data and ends with it. A paintable that is bound
/// without a widget has them as well.
///
/// It listens to the widget's being mapped, unmapped and taken out of its window; no toggle references, no strong ones.
@MainActor
final class WidgetSlots {
    private static let quark = g_quark_from_string("gtk-web-image-slots")

    /// nil for a paintable.
    let widget: WidgetReference?
    private var slots: [OperationKey: ImageSlot] = [:]
    /// The GtkPictures that show what depends on the state of the widget.
    private var hosts: [String: AnyObject] = [:]
    /// Told of the states that the widget is in.
    private var stateful: [PicturePresenter] = []
    /// Besides those of the widget's own flags.
    var isHighlighted = false {
        didSet { if isHighlighted != oldValue { updateStates() } }
    }
    private var listensToClicks = false

    private init(_ widget: WidgetReference?) {
        self.widget = widget
    }

    static func existing(of object: UnsafeMutableRawPointer) -> WidgetSlots? {
        let object = object.assumingMemoryBound(to: GObject.self)
        return g_object_get_qdata(object, quark).map { Unmanaged<WidgetSlots>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(_ object: UnsafeMutableRawPointer) -> WidgetSlots {
        if let existing = existing(of: object) { return existing }
        let isWidget = object.isInstance(of: gtk_widget_get_type())
        let slots = WidgetSlots(isWidget ? WidgetReference(object) : nil)
        if isWidget {
            WindowMonitor.start()
            object.connect("map") { [weak slots] in slots?.forEach { $0.widgetMapped() } }
            object.connect("unmap") { [weak slots] in slots?.forEach { $0.widgetUnmapped() } }
            object.connect("notify::root") { [weak slots] in slots?.rootChanged() }
        }
        g_object_set_qdata_full(
            object.assumingMemoryBound(to: GObject.self),
            quark,
            Unmanaged.passRetained(slots).toOpaque(),
            // When the widget is finalised, on whatever thread: slots cancel their loads as they go.
            { Unmanaged<WidgetSlots>.fromOpaque($0!).release() }
        )
        return slots
    }

    func existingSlot(for key: OperationKey) -> ImageSlot? { slots[key] }

    /// The slot of a key, made with makeTarget when there is none yet.
    func slot(for key: OperationKey, _ makeTarget: () -> any SlotTarget) -> ImageSlot {
        if let slot = slots[key] {
            guard slot.target is EmptyTarget else { return slot }
            // Until now only a load of the app's hung there.
            slot.cancel()
        }
        let slot = ImageSlot(makeTarget(), widget)
        slots[key] = slot
        return slot
    }

    /// What is made once for a purpose, whatever the states.
    func shared<T: AnyObject>(_ purpose: String, _ make: () -> T) -> T {
        if let made = hosts[purpose] as? T { return made }
        let made = make()
        hosts[purpose] = made
        return made
    }

    /// Tells a GtkPicture of the states of the widget from now on.
    func follow(_ host: PicturePresenter) {
        guard !stateful.contains(where: { $0 === host }), let pointer = widget?.pointer else { return }
        stateful.append(host)
        if stateful.count == 1 {
            UnsafeMutableRawPointer(pointer).connect("state-flags-changed") { [weak self] in
                self?.updateStates()
            }
        }
        updateStates()
    }

    private func updateStates() {
        guard let pointer = widget?.pointer else { return }
        var states = ImageState.states(of: gtk_widget_get_state_flags(pointer))
        if isHighlighted { states.insert(.highlighted, at: 0) }
        for host in stateful { host.states = states }
    }

    /// Lets the user try again what has failed.
    func listenToClicks() {
        guard !listensToClicks, let pointer = widget?.pointer else { return }
        listensToClicks = true
        let gesture = gtk_gesture_click_new()!
        UnsafeMutableRawPointer(gesture).connect("pressed") { [weak self] in self?.forEach { $0.widgetClicked() } }
        gtk_widget_add_controller(pointer, gesture)
    }

    private func forEach(_ body: (ImageSlot) -> Void) {
        MainThreadMeter.measure {
            for slot in slots.values { body(slot) }
        }
    }

    private func rootChanged() {
        guard let pointer = widget?.pointer, gtk_widget_get_root(pointer) == nil else { return }
        // Reparenting passes through having no root; it is over by the next turn.
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated {
                guard let self, let pointer = self.widget?.pointer, gtk_widget_get_root(pointer) == nil else { return }
                self.forEach { $0.widgetUnrooted() }
            }
        }
    }
}
