internal import CWebImageGtk4
import GtkWebImage
import WebImageLinux

typealias Widget = UnsafeMutablePointer<GtkWidget>

extension UnsafeMutablePointer where Pointee == GtkWidget {
    var native: OpaquePointer { OpaquePointer(self) }
    var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }

    func cast<T>(to type: T.Type) -> UnsafeMutablePointer<T> { raw.assumingMemoryBound(to: type) }

    /// Sets the text that assistive technology reads instead of the content.
    func setAccessibleLabel(_ text: String) {
        var property = GTK_ACCESSIBLE_PROPERTY_LABEL
        withValue(text) { gtk_accessible_update_property_value(native, 1, &property, $0) }
    }

    func setProperty(_ name: String, _ text: String) {
        withValue(text) { g_object_set_property(cast(to: GObject.self), name, $0) }
    }

    private func withValue(_ text: String, _ body: (UnsafeMutablePointer<GValue>) -> Void) {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        defer { g_value_unset(&value) }
        g_value_set_string(&value, text)
        body(&value)
    }
}

@MainActor
func box(_ orientation: GtkOrientation, spacing: Int32 = 6, _ children: [Widget] = []) -> Widget {
    let box = gtk_box_new(orientation, spacing)!
    for child in children { gtk_box_append(box.cast(to: GtkBox.self), child) }
    return box
}

/// Makes a label that shows its text without parsing markup.
@MainActor
func label(_ text: String, _ classes: String...) -> Widget {
    let label = gtk_label_new(text)!
    gtk_label_set_xalign(label.native, 0)
    for name in classes { gtk_widget_add_css_class(label, name) }
    return label
}

/// Makes a label wrap, even within long words.
@MainActor
func wrapping(_ label: Widget) -> Widget {
    gtk_label_set_wrap(label.native, 1)
    gtk_label_set_wrap_mode(label.native, PANGO_WRAP_WORD_CHAR)
    return label
}

/// Keeps a label on one line, and shortens it.
@MainActor
func shortened(_ label: Widget, at place: PangoEllipsizeMode = PANGO_ELLIPSIZE_MIDDLE) -> Widget {
    gtk_label_set_ellipsize(label.native, place)
    gtk_label_set_single_line_mode(label.native, 1)
    return label
}

/// Gives a button the name that assistive technology reads.
@MainActor
func named(_ button: Widget, _ name: String, tooltip: String) -> Widget {
    gtk_widget_set_tooltip_text(button, tooltip)
    button.setAccessibleLabel(name)
    return button
}

@MainActor
func button(icon: String, _ text: String) -> Widget {
    let button = named(gtk_button_new_from_icon_name(icon), text, tooltip: text)
    gtk_widget_add_css_class(button, "flat")
    return button
}

@MainActor
func button(_ text: String, tooltip: String) -> Widget {
    named(gtk_button_new_with_label(text), text, tooltip: tooltip)
}

@MainActor
func toggle(_ text: String, tooltip: String) -> Widget {
    named(gtk_toggle_button_new_with_label(text), text, tooltip: tooltip)
}

@MainActor
func onToggle(_ button: Widget, _ body: @escaping (Bool) -> Void) {
    button.raw.connect("toggled") { body(isOn(button)) }
}

@MainActor
func isOn(_ button: Widget) -> Bool { gtk_toggle_button_get_active(button.cast(to: GtkToggleButton.self)) != 0 }

@MainActor
func setOn(_ button: Widget, _ isOn: Bool) {
    gtk_toggle_button_set_active(button.cast(to: GtkToggleButton.self), isOn ? 1 : 0)
}

@MainActor
func scrolled(_ child: Widget) -> Widget {
    let scrolled = gtk_scrolled_window_new()!
    gtk_scrolled_window_set_policy(scrolled.native, GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
    gtk_scrolled_window_set_child(scrolled.native, child)
    gtk_widget_set_vexpand(scrolled, 1)
    return scrolled
}

/// Lets Tab leave a list. By default, GTK's Tab goes through all rows, as the arrow keys do.
@MainActor
func leaveByTab(_ list: Widget) {
    let ways = [(GdkModifierType(rawValue: 0), GTK_DIR_TAB_FORWARD), (GDK_SHIFT_MASK, GTK_DIR_TAB_BACKWARD)]
    for (modifiers, direction) in ways {
        onKey(UInt32(GDK_KEY_Tab), modifiers, in: list) {
            guard let root = gtk_widget_get_root(list) else { return false }
            gtk_widget_set_can_focus(list, 0)
            defer { gtk_widget_set_can_focus(list, 1) }
            return gtk_widget_child_focus(
                UnsafeMutableRawPointer(root).assumingMemoryBound(to: GtkWidget.self),
                direction
            ) != 0
        }
    }
}

/// Calls a closure when a key is pressed in a widget or its descendants.
@MainActor
func onKey(
    _ key: UInt32,
    _ modifiers: GdkModifierType = GdkModifierType(rawValue: 0),
    in widget: Widget,
    _ body: @escaping @MainActor () -> Bool
) {
    let context = Unmanaged.passRetained(KeyAction(body)).toOpaque()
    let action = gtk_callback_action_new(
        { _, _, context in
            let action = Unmanaged<KeyAction>.fromOpaque(context!).takeUnretainedValue()
            return MainActor.assumeIsolated { action.body() } ? 1 : 0
        },
        context,
        { Unmanaged<KeyAction>.fromOpaque($0!).release() }
    )
    let controller = gtk_shortcut_controller_new()!
    gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
    let shortcut = gtk_shortcut_new(gtk_keyval_trigger_new(key, modifiers), action)
    gtk_shortcut_controller_add_shortcut(controller, shortcut)
    gtk_widget_add_controller(widget, controller)
}

@MainActor
private final class KeyAction {
    let body: @MainActor () -> Bool

    init(_ body: @escaping @MainActor () -> Bool) {
        self.body = body
    }
}
