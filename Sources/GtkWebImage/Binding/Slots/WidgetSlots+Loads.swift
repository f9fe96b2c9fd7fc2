internal import CWebImageGtk4
import WebImageCore
import WebImageLinux

// The loads of a widget, among them loads without an image of it.
extension WidgetSlots {
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
            slot.current?.imageInStyle.map {
                BoundImage(widget: WidgetPointer(UnsafeMutableRawPointer(pointer)), request: $0)
            }
        }
    }

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
}
