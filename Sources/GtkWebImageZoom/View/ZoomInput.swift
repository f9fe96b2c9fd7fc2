internal import CWebImageGtk4
import Glibc
import GtkWebImage
import WebImageLinux

/// The pointer, touch and key input of a ``ZoomView``, owned by the controllers of the widget.
@MainActor
final class ZoomInput {
    private weak var content: ZoomContent?
    private let widget: WidgetReference
    /// The pointer in application pixels; `nil` outside the widget.
    private var pointer: (x: Double, y: Double)?
    /// The distance of the drag so far.
    private var dragged = (x: 0.0, y: 0.0)
    /// The one-finger gesture, which ends when a second finger touches.
    private var dragGesture: OpaquePointer?
    /// The zoom at the start of a pinch.
    private var pinchStart = 1.0
    /// The last center of a pinch in application pixels.
    private var pinchCenter: (x: Double, y: Double)?

    private init(_ widget: UnsafeMutablePointer<GtkWidget>, _ content: ZoomContent) {
        self.content = content
        self.widget = WidgetReference(UnsafeMutableRawPointer(widget))
    }

    static func connect(_ widget: UnsafeMutablePointer<GtkWidget>, to content: ZoomContent) {
        let input = ZoomInput(widget, content)
        input.addScrolling(to: widget)
        input.addPointer(to: widget)
        input.addDragging(to: widget)
        input.addClicks(to: widget)
        input.addPinching(to: widget)
        input.addKeys(to: widget)
    }

    private func addScrolling(to widget: UnsafeMutablePointer<GtkWidget>) {
        let controller = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES)!
        let callback: @convention(c) (OpaquePointer, Double, Double, gpointer) -> gboolean = { scroll, x, y, context in
            // GTK reads the unit from the current event without checking that there is one.
            let event = gtk_event_controller_get_current_event(scroll)
            let isTouchpad = event != nil && gtk_event_controller_scroll_get_unit(scroll) == GDK_SCROLL_UNIT_SURFACE
            let state = event.map { gdk_event_get_modifier_state($0).rawValue } ?? 0
            let hasControl = state & GDK_CONTROL_MASK.rawValue != 0
            return ZoomInput.run(context) { input in
                input.scroll(x, y, zooms: !isTouchpad || hasControl, isTouchpad: isTouchpad)
            }
        }
        connect(controller, "scroll", to: unsafeBitCast(callback, to: GCallback.self))
        gtk_widget_add_controller(widget, controller)
    }

    private func scroll(_ x: Double, _ y: Double, zooms: Bool, isTouchpad: Bool) -> Bool {
        guard let content, content.image != nil else { return false }
        guard zooms else {
            content.change { $0.pan(by: content.devicePoint(-x, -y)) }
            return true
        }
        // A notch of the wheel is 1; a touchpad reports pixels.
        let factor = pow(Self.wheelStep, -(isTouchpad ? y / Self.pixelsPerNotch : y))
        let point = pointer.map { content.devicePoint($0.x, $0.y) }
        content.change { $0.set($0.zoom * factor, about: point) }
        return true
    }

    private func addPointer(to widget: UnsafeMutablePointer<GtkWidget>) {
        let controller = gtk_event_controller_motion_new()!
        let moved: @convention(c) (OpaquePointer, Double, Double, gpointer) -> Void = { _, x, y, context in
            ZoomInput.run(context) { $0.pointer = (x, y) }
        }
        let left: @convention(c) (OpaquePointer, gpointer) -> Void = { _, context in
            ZoomInput.run(context) { $0.pointer = nil }
        }
        connect(controller, "enter", to: unsafeBitCast(moved, to: GCallback.self))
        connect(controller, "motion", to: unsafeBitCast(moved, to: GCallback.self))
        connect(controller, "leave", to: unsafeBitCast(left, to: GCallback.self))
        gtk_widget_add_controller(widget, controller)
    }

    private func addDragging(to widget: UnsafeMutablePointer<GtkWidget>) {
        let gesture = gtk_gesture_drag_new()!
        dragGesture = gesture
        let began: @convention(c) (OpaquePointer, Double, Double, gpointer) -> Void = { _, _, _, context in
            ZoomInput.run(context) { $0.dragged = (0, 0) }
        }
        let updated: @convention(c) (OpaquePointer, Double, Double, gpointer) -> Void = { _, x, y, context in
            ZoomInput.run(context) { $0.drag(to: x, y) }
        }
        connect(gesture, "drag-begin", to: unsafeBitCast(began, to: GCallback.self))
        connect(gesture, "drag-update", to: unsafeBitCast(updated, to: GCallback.self))
        gtk_widget_add_controller(widget, gesture)
    }

    private func drag(to x: Double, _ y: Double) {
        guard let content else { return }
        let distance = content.devicePoint(x - dragged.x, y - dragged.y)
        dragged = (x, y)
        content.change { $0.pan(by: distance) }
    }

    private func addClicks(to widget: UnsafeMutablePointer<GtkWidget>) {
        let gesture = gtk_gesture_click_new()!
        let pressed: @convention(c) (OpaquePointer, gint, Double, Double, gpointer) -> Void = {
            _,
            count,
            x,
            y,
            context in
            ZoomInput.run(context) { $0.click(count: Int(count), x, y) }
        }
        connect(gesture, "pressed", to: unsafeBitCast(pressed, to: GCallback.self))
        gtk_widget_add_controller(widget, gesture)
    }

    private func click(count: Int, _ x: Double, _ y: Double) {
        if let widget = widget.pointer { gtk_widget_grab_focus(widget) }
        guard count == 2, let content else { return }
        content.change { viewport in
            if viewport.isFitting, viewport.zoom < 1 {
                viewport.set(1, about: content.devicePoint(x, y))
            } else {
                viewport.fit()
            }
        }
    }

    private func addPinching(to widget: UnsafeMutablePointer<GtkWidget>) {
        let gesture = gtk_gesture_zoom_new()!
        let began: @convention(c) (OpaquePointer, OpaquePointer?, gpointer) -> Void = { _, _, context in
            ZoomInput.run(context) { $0.beginPinch() }
        }
        let scaled: @convention(c) (OpaquePointer, Double, gpointer) -> Void = { gesture, scale, context in
            var (x, y) = (0.0, 0.0)
            // GTK reads the type of the last event without checking that there is one.
            let event = gtk_gesture_get_last_event(gesture, gtk_gesture_get_last_updated_sequence(gesture))
            let hasCenter = event != nil && gtk_gesture_get_bounding_box_center(gesture, &x, &y) != 0
            let center = (x, y)
            ZoomInput.run(context) { $0.pinch(scale, at: hasCenter ? center : nil) }
        }
        connect(gesture, "begin", to: unsafeBitCast(began, to: GCallback.self))
        connect(gesture, "scale-changed", to: unsafeBitCast(scaled, to: GCallback.self))
        gtk_widget_add_controller(widget, gesture)
    }

    private func beginPinch() {
        pinchStart = content?.viewport?.zoom ?? 1
        pinchCenter = nil
        if let dragGesture { gtk_gesture_set_state(dragGesture, GTK_EVENT_SEQUENCE_DENIED) }
    }

    /// Zooms about the center of the fingers, and moves the image with it.
    private func pinch(_ scale: Double, at center: (x: Double, y: Double)?) {
        guard let content else { return }
        let moved = center.flatMap { center in
            pinchCenter.map { content.devicePoint(center.x - $0.x, center.y - $0.y) }
        }
        let point = center.map { content.devicePoint($0.x, $0.y) }
        pinchCenter = center
        content.change { viewport in
            if let moved { viewport.pan(by: moved) }
            viewport.set(pinchStart * scale, about: point)
        }
    }

    private func addKeys(to widget: UnsafeMutablePointer<GtkWidget>) {
        let controller = gtk_event_controller_key_new()!
        let pressed: @convention(c) (OpaquePointer, guint, guint, UInt32, gpointer) -> gboolean = {
            _,
            key,
            _,
            _,
            context in
            ZoomInput.run(context) { $0.press(Int32(bitPattern: key)) }
        }
        connect(controller, "key-pressed", to: unsafeBitCast(pressed, to: GCallback.self))
        gtk_widget_add_controller(widget, controller)
    }

    /// - Returns: Whether the view has changed. If not, arrow keys move the focus.
    private func press(_ key: Int32) -> Bool {
        guard let content, let view = content.viewport?.viewSize else { return false }
        let step = content.devicePoint(Self.arrowStep, Self.arrowStep)
        func pan(_ x: Double, _ y: Double) -> Bool {
            content.change { $0.pan(by: ZoomViewport.Point(x: x, y: y)) }
        }
        switch key {
        case GDK_KEY_plus, GDK_KEY_equal, GDK_KEY_KP_Add:
            return content.change { $0.set($0.zoom * Self.keyStep) }
        case GDK_KEY_minus, GDK_KEY_KP_Subtract:
            return content.change { $0.set($0.zoom / Self.keyStep) }
        case GDK_KEY_0, GDK_KEY_KP_0: return content.change { $0.fit() }
        case GDK_KEY_1, GDK_KEY_KP_1: return content.change { $0.set(1) }
        case GDK_KEY_Left, GDK_KEY_KP_Left: return pan(step.x, 0)
        case GDK_KEY_Right, GDK_KEY_KP_Right: return pan(-step.x, 0)
        case GDK_KEY_Up, GDK_KEY_KP_Up: return pan(0, step.y)
        case GDK_KEY_Down, GDK_KEY_KP_Down: return pan(0, -step.y)
        case GDK_KEY_Page_Up, GDK_KEY_KP_Page_Up: return pan(0, view.y)
        case GDK_KEY_Page_Down, GDK_KEY_KP_Page_Down: return pan(0, -view.y)
        case GDK_KEY_Home, GDK_KEY_KP_Home:
            return content.change { $0.move(to: ZoomViewport.Point(x: 0, y: 0)) }
        case GDK_KEY_End, GDK_KEY_KP_End:
            return content.change { viewport in
                let size = viewport.imageSize
                viewport.move(to: ZoomViewport.Point(x: Double(size.width), y: Double(size.height)))
            }
        default: return false
        }
    }

    private func connect(_ controller: OpaquePointer, _ signal: String, to callback: GCallback) {
        g_signal_connect_data(
            UnsafeMutableRawPointer(controller),
            signal,
            callback,
            Unmanaged.passRetained(self).toOpaque(),
            { context, _ in Unmanaged<ZoomInput>.fromOpaque(context!).release() },
            GConnectFlags(rawValue: 0)
        )
    }

    /// Runs a signal handler. GTK emits signals on the main thread.
    private nonisolated static func run(_ context: gpointer, _ body: @MainActor (ZoomInput) -> Void) {
        let address = UInt(bitPattern: context)
        MainActor.assumeIsolated {
            let input = Unmanaged<ZoomInput>.fromOpaque(UnsafeRawPointer(bitPattern: address)!).takeUnretainedValue()
            MainThreadMeter.measure { body(input) }
        }
    }

    private nonisolated static func run(_ context: gpointer, _ body: @MainActor (ZoomInput) -> Bool) -> gboolean {
        var result = false
        run(context) { (input: ZoomInput) -> Void in result = body(input) }
        return result ? 1 : 0
    }

    /// The zoom factor of a wheel notch.
    private static let wheelStep = 1.25
    /// The touchpad pixels that equal a wheel notch.
    private static let pixelsPerNotch = 40.0
    /// The zoom factor of a key press; two presses double the zoom.
    private static let keyStep = 2.0.squareRoot()
    /// The application pixels by which an arrow key moves the image.
    private static let arrowStep = 64.0
}
