internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

/// The slots of one widget, by operation key. They are attached to the widget as GObject data and destroyed with it. A
/// paintable that is bound without a widget also has slots.
///
/// They observe when the widget is mapped, unmapped and removed from its window, and hold no reference to it.
@MainActor
final class WidgetSlots {
    private static let quark = g_quark_from_string("gtk-web-image-slots")

    /// `nil` for a paintable.
    let widget: WidgetReference?
    /// The manager of all images of the widget; `nil` for the shared one.
    var manager: ImageManager?
    private var slots: [OperationKey: ImageSlot] = [:]
    /// Loads that the app tied to the widget.
    private var appTasks: [OperationKey: ImageTask] = [:]
    /// `nil` for a paintable.
    let presenters: WidgetPresenters?
    /// Created for the first image that loads.
    private(set) lazy var accessibility = widget.map { WidgetAccessibility($0) }
    private var listensToClicks = false
    private var followsWindow = false

    private init(_ widget: WidgetReference?) {
        self.widget = widget
        presenters = widget.map(WidgetPresenters.init)
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

    /// Returns the slot of a place, created if there is none yet.
    func slot(for key: OperationKey, in place: ImagePlace) -> ImageSlot {
        slot(for: key) {
            switch (place, presenters) {
            case (.application, _): ApplicationIconTarget()
            case (.paintable(let content), _): StandaloneTarget(content)
            case (.handedOut, _): preconditionFailure("The slot was made when the paintable was handed out")
            case (.image(let state), let presenters?): presenters.makeImageTarget(for: state)
            case (.background(let state), let presenters?): presenters.makeBackgroundTarget(for: state)
            case (.icon(let position), let presenters?): presenters.makeIconTarget(at: position)
            case (_, nil): preconditionFailure("The object is not a GtkWidget")
            }
        }
    }

    /// Returns the slot of a key, created with `makeTarget` if there is none yet.
    func slot(for key: OperationKey, _ makeTarget: () -> any SlotTarget) -> ImageSlot {
        if let slot = slots[key] { return slot }
        let target = makeTarget()
        // The icon of a window is not part of the content of the window.
        let isContent = !(target is WindowIconTarget)
        let slot = ImageSlot(target, widget, isContent: isContent)
        slots[key] = slot
        return slot
    }

    // Loads without an image of this widget

    func task(for key: OperationKey) -> ImageTask? {
        appTasks[key] ?? slots[key]?.current?.task
    }

    func removeTask(for key: OperationKey) -> ImageTask? {
        appTasks.removeValue(forKey: key) ?? slots[key]?.release()
    }

    func setTask(_ task: ImageTask, for key: OperationKey) {
        removeTask(for: key)?.cancel()
        appTasks[key] = task
    }

    /// Cancels the load that the app tied to the key, because another image is set under it.
    func cancelAppTask(for key: OperationKey) {
        if !appTasks.isEmpty { appTasks.removeValue(forKey: key)?.cancel() }
    }

    /// Cancels the load under a key.
    func cancel(_ key: OperationKey) {
        appTasks[key]?.cancel()
        slots[key]?.cancel()
    }

    /// Cancels the loads under all keys.
    func cancelAll() {
        for task in appTasks.values { task.cancel() }
        for slot in slots.values { slot.cancel() }
    }

    /// The loads under all keys that have not ended, including waiting ones.
    var runningTasks: [ImageTask] {
        (slots.values.compactMap { $0.current?.task } + appTasks.values).filter { !$0.isFinished }
    }

    /// The images under all keys. A paintable has none, because its widgets are unknown.
    var boundImages: [BoundImage] {
        guard let pointer = widget?.pointer else { return [] }
        return slots.values.compactMap { slot in
            slot.current.map {
                BoundImage(
                    widget: WidgetPointer(UnsafeMutableRawPointer(pointer)),
                    request: $0.image.inStyle(isDark: $0.isDark)
                )
            }
        }
    }

    // Events

    func resume() {
        forEach { $0.widgetResumed() }
    }

    /// Makes a click retry failed loads.
    func listenToClicks() {
        guard !listensToClicks, let pointer = widget?.pointer else { return }
        listensToClicks = true
        let object = UnsafeMutableRawPointer(pointer)
        if object.isInstance(of: gtk_entry_get_type()) {
            // The icons of an entry handle clicks on them.
            object.connectWithArgument("icon-press") { [weak self] position in
                let key = EntryIconPosition(native: position).key
                self?.slots[key]?.widgetClicked()
            }
            return
        }
        let gesture = gtk_gesture_click_new()!
        UnsafeMutableRawPointer(gesture).connect("pressed") { [weak self] in self?.forEach { $0.widgetClicked() } }
        gtk_widget_add_controller(pointer, gesture)
    }

    private func forEach(_ body: (ImageSlot) -> Void) {
        MainThreadMeter.measure {
            for slot in slots.values { body(slot) }
        }
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
