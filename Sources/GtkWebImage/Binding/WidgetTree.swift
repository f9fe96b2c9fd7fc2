internal import CWebImageGtk4
public import WebImageCore
import WebImageLinux

/// The loads of a widget, and of all widgets within it: of a window, or of a page. ``runningTasks``, ``cancelAll()`` and
/// ``isSuspended`` concern all of them; calls with a key concern the widget itself. It keeps nothing alive, so ask the widget for it
/// where you use it. Main thread.
@preconcurrency @MainActor
public struct WidgetImages {
    let widget: UnsafeMutableRawPointer

    /// The loads of the widget and of all widgets within it, under all keys, that have not ended: running loads, and loads that wait
    /// until their widget is on screen.
    public var runningTasks: [ImageTask] {
        var tasks: [ImageTask] = []
        forEachSlots { tasks += $0.runningTasks }
        return tasks
    }

    /// Cancels all ``runningTasks``. Each completion receives `ImageError.Code.cancelled`.
    public func cancelAll() {
        forEachSlots { $0.cancelAll() }
    }

    /// Whether the widget and all widgets within it, including later additions, start no loads. Default: `false`.
    ///
    /// Images in memory are still shown. Running loads continue. The others start when it becomes `false` again, unless
    /// a parent of this widget is also suspended. `ImageManager.isSuspended` does this for all loads of a manager.
    public var isSuspended: Bool {
        get { SuspendedWidgets.isSuspended(widget) }
        nonmutating set {
            guard newValue != isSuspended else { return }
            SuspendedWidgets.setSuspended(newValue, widget)
            if !newValue { forEachSlots { $0.resume() } }
        }
    }

    /// The last load of the widget itself under a key, which may have ended.
    public func task(for key: OperationKey) -> ImageTask? {
        WidgetSlots.existing(of: widget)?.task(for: key)
    }

    /// Cancels the load of the widget itself under a key, if there is one. Its completion receives `ImageError.Code.cancelled`.
    public func cancel(_ key: OperationKey) {
        WidgetSlots.existing(of: widget)?.cancel(key)
    }

    /// Ties a load that you started, or detached from another widget, to the widget: it is cancelled when another
    /// image is set under the key and when the widget is destroyed. The widget shows nothing of it.
    public func attach(_ task: ImageTask, for key: OperationKey) {
        WidgetSlots.of(widget).setTask(task, for: key)
    }

    /// Detaches the load under a key from the widget without cancelling it. It continues for its completion and the
    /// caches, and no longer updates the widget. A load that still waits for its widget to be mapped is not continued:
    /// it ends with ``/WebImageCore/ImageError/Code/cancelled``.
    /// - Returns: The load, if there was one.
    @discardableResult
    public func detach(_ key: OperationKey) -> ImageTask? {
        WidgetSlots.existing(of: widget)?.removeTask(for: key)
    }

    /// The images that the widget and all widgets within it show or load, in no particular order. The call walks all of these widgets,
    /// so use it for diagnostics rather than in each frame.
    package var bound: [BoundImage] {
        var images: [BoundImage] = []
        forEachSlots { images += $0.boundImages }
        return images
    }

    /// Calls a closure with the slots of the widget and of all widgets within it. The closure may change the widgets.
    private func forEachSlots(_ body: (WidgetSlots) -> Void) {
        var found: [WidgetSlots] = []
        var pending = [widget.assumingMemoryBound(to: GtkWidget.self)]
        while let widget = pending.popLast() {
            if let slots = WidgetSlots.existing(of: widget) { found.append(slots) }
            var child = gtk_widget_get_last_child(widget)
            while let next = child {
                pending.append(next)
                child = gtk_widget_get_prev_sibling(next)
            }
        }
        for slots in found { body(slots) }
    }
}

/// An image that a widget shows or loads: see ``WidgetImages/bound``.
@MainActor
package struct BoundImage {
    /// The widget that the image was set on. It may be destroyed later.
    package let widget: WidgetPointer
    /// The request that was set last, whether or not its load succeeded.
    package let request: ImageRequest
}

/// The widgets that start no loads, including all widgets within them.
@MainActor
enum SuspendedWidgets {
    private static let quark = g_quark_from_string("gtk-web-image-suspended")
    /// Whether any widget was ever marked.
    private static var hasAny = false

    static func isSuspended(_ object: UnsafeMutableRawPointer) -> Bool {
        hasAny && g_object_get_qdata(object.assumingMemoryBound(to: GObject.self), quark) != nil
    }

    static func setSuspended(_ isSuspended: Bool, _ object: UnsafeMutableRawPointer) {
        hasAny = hasAny || isSuspended
        let mark = isSuspended ? object : nil
        g_object_set_qdata(object.assumingMemoryBound(to: GObject.self), quark, mark)
    }

    /// Whether a widget or one of its parents is suspended. Costs nothing in an app that never suspends widgets.
    static func contain(_ widget: UnsafeMutablePointer<GtkWidget>) -> Bool {
        guard hasAny else { return false }
        var next: UnsafeMutablePointer<GtkWidget>? = widget
        while let widget = next {
            if isSuspended(widget) { return true }
            next = gtk_widget_get_parent(widget)
        }
        return false
    }
}
