internal import CWebImageGtk4
public import WebImageCore
import WebImageLinux

// The loads of a window, a page, or any other part of the widget tree.
extension GtkWidgetConvertible {
    /// The loads of the widget and of all widgets within it, under all keys, that have not ended: running ones, and
    /// those that wait until their widget is on screen. Main thread.
    public var runningImageTasks: [ImageTask] {
        var tasks: [ImageTask] = []
        forEachSlots { tasks += $0.runningTasks }
        return tasks
    }

    /// The images that the widget and all widgets within it show or load, in no particular order. It walks all of these
    /// widgets, so call it for diagnostics rather than in each frame. Main thread.
    package var boundImages: [BoundImage] {
        var images: [BoundImage] = []
        forEachSlots { images += $0.boundImages }
        return images
    }

    /// Cancels all ``runningImageTasks``. Each completion receives `ImageError.Code.cancelled`.
    public func cancelImageLoads() {
        forEachSlots { $0.cancelAll() }
    }

    /// Whether the widget and all widgets within it, including later additions, start no loads. Default: `false`.
    ///
    /// Images in memory are still shown. Running loads continue. The others start when it becomes `false` again, unless
    /// a parent of this widget is also suspended. `ImageManager.isSuspended` does this for all loads of a manager.
    public var areImageLoadsSuspended: Bool {
        get { SuspendedWidgets.isSuspended(nativeWidgetPointer) }
        nonmutating set {
            guard newValue != areImageLoadsSuspended else { return }
            SuspendedWidgets.setSuspended(newValue, nativeWidgetPointer)
            if !newValue { forEachSlots { $0.resume() } }
        }
    }

    /// Calls a closure with the slots of the widget and of all widgets within it. The closure may change the widgets.
    private func forEachSlots(_ body: (WidgetSlots) -> Void) {
        var found: [WidgetSlots] = []
        var pending = [nativeWidgetPointer.assumingMemoryBound(to: GtkWidget.self)]
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

/// An image that a widget shows or loads: see ``GtkWidgetConvertible/boundImages``.
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
