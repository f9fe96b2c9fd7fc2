internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The loads of one widget, by key. Hangs on the widget as GObject data and ends with it.
///
/// It listens to the widget's being mapped, unmapped and taken out of its window; no toggle references, no strong ones.
@MainActor
final class WidgetSlots {
    private static let quark = g_quark_from_string("gtk-web-image-slots")

    let widget: WidgetReference
    private var slots: [OperationKey: ImageSlot] = [:]

    private init(_ widget: UnsafeMutableRawPointer) {
        self.widget = WidgetReference(widget)
    }

    static func existing(of widget: UnsafeMutableRawPointer) -> WidgetSlots? {
        let object = widget.assumingMemoryBound(to: GObject.self)
        return g_object_get_qdata(object, quark).map { Unmanaged<WidgetSlots>.fromOpaque($0).takeUnretainedValue() }
    }

    static func of(_ widget: UnsafeMutableRawPointer) -> WidgetSlots {
        if let existing = existing(of: widget) { return existing }
        WindowMonitor.start()
        let slots = WidgetSlots(widget)
        slots.connect("map", to: widget) { $0.mapped() }
        slots.connect("unmap", to: widget) { $0.unmapped() }
        slots.connectNotify("notify::root", to: widget) { $0.rootChanged() }
        g_object_set_qdata_full(
            widget.assumingMemoryBound(to: GObject.self),
            quark,
            Unmanaged.passRetained(slots).toOpaque(),
            // When the widget is finalised, on whatever thread: slots cancel their loads as they go.
            { Unmanaged<WidgetSlots>.fromOpaque($0!).release() }
        )
        return slots
    }

    func existingSlot(for key: OperationKey) -> ImageSlot? { slots[key] }

    /// The slot of a key, made with `makeTarget` when there is none yet.
    func slot(for key: OperationKey, _ makeTarget: () -> any SlotTarget) -> ImageSlot {
        if let slot = slots[key] { return slot }
        let slot = ImageSlot(makeTarget(), widget)
        slots[key] = slot
        return slot
    }

    private func mapped() {
        for slot in slots.values { slot.widgetMapped() }
    }

    private func unmapped() {
        for slot in slots.values { slot.widgetUnmapped() }
    }

    private func rootChanged() {
        guard let pointer = widget.pointer, gtk_widget_get_root(pointer) == nil else { return }
        // Reparenting passes through having no root; it is over by the next turn.
        MainLoopDispatcher.shared.dispatch { [weak self] in
            MainActor.assumeIsolated {
                guard let self, let pointer = self.widget.pointer, gtk_widget_get_root(pointer) == nil else { return }
                for slot in self.slots.values { slot.widgetUnrooted() }
            }
        }
    }

    // A handler holds the slots weakly through a box of its own, which goes when GObject drops the closure.

    private func connect(
        _ signal: String,
        to widget: UnsafeMutableRawPointer,
        _ body: @escaping @MainActor (WidgetSlots) -> Void
    ) {
        let callback: @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void = { _, box in
            SignalBox.run(box)
        }
        connect(signal, widget, unsafeBitCast(callback, to: GCallback.self), body)
    }

    private func connectNotify(
        _ signal: String,
        to widget: UnsafeMutableRawPointer,
        _ body: @escaping @MainActor (WidgetSlots) -> Void
    ) {
        typealias Notify = @convention(c) (UnsafeMutableRawPointer, OpaquePointer?, UnsafeMutableRawPointer) -> Void
        let callback: Notify = { _, _, box in SignalBox.run(box) }
        connect(signal, widget, unsafeBitCast(callback, to: GCallback.self), body)
    }

    private func connect(
        _ signal: String,
        _ widget: UnsafeMutableRawPointer,
        _ callback: GCallback,
        _ body: @escaping @MainActor (WidgetSlots) -> Void
    ) {
        let box = Unmanaged.passRetained(SignalBox(self, body)).toOpaque()
        let drop: GClosureNotify = { box, _ in Unmanaged<SignalBox>.fromOpaque(box!).release() }
        g_signal_connect_data(widget, signal, callback, box, drop, GConnectFlags(rawValue: 0))
    }
}

/// What a signal handler is given.
@MainActor
private final class SignalBox {
    private weak var slots: WidgetSlots?
    private let body: @MainActor (WidgetSlots) -> Void

    init(_ slots: WidgetSlots, _ body: @escaping @MainActor (WidgetSlots) -> Void) {
        self.slots = slots
        self.body = body
    }

    nonisolated static func run(_ box: UnsafeMutableRawPointer) {
        let box = Unmanaged<SignalBox>.fromOpaque(box).takeUnretainedValue()
        MainActor.assumeIsolated {
            if let slots = box.slots { box.body(slots) }
        }
    }
}
