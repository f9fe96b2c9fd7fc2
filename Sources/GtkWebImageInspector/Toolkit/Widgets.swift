internal import CWebImageGtk4
import GtkWebImage
import WebImageLinux

typealias Widget = UnsafeMutablePointer<GtkWidget>

// The building blocks of the views.

extension UnsafeMutablePointer where Pointee == GtkWidget {
    var native: OpaquePointer { OpaquePointer(self) }
    var raw: UnsafeMutableRawPointer { UnsafeMutableRawPointer(self) }

    func cast<T>(to type: T.Type) -> UnsafeMutablePointer<T> { raw.assumingMemoryBound(to: type) }

    /// Sets the text that assistive technology reads instead of the content.
    func setAccessibleLabel(_ text: String) {
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        defer { g_value_unset(&value) }
        g_value_set_string(&value, text)
        var property = GTK_ACCESSIBLE_PROPERTY_LABEL
        gtk_accessible_update_property_value(native, 1, &property, &value)
    }

    func setMargins(_ margin: Int32) {
        gtk_widget_set_margin_top(self, margin)
        gtk_widget_set_margin_bottom(self, margin)
        gtk_widget_set_margin_start(self, margin)
        gtk_widget_set_margin_end(self, margin)
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

/// Makes a label that wraps, even within long words.
@MainActor
func wrappingLabel(_ text: String, _ classes: String...) -> Widget {
    let label = label(text)
    gtk_label_set_wrap(label.native, 1)
    gtk_label_set_wrap_mode(label.native, PANGO_WRAP_WORD_CHAR)
    for name in classes { gtk_widget_add_css_class(label, name) }
    return label
}

/// Makes a label of one line that is shortened in the middle.
@MainActor
func shortLabel(_ text: String, _ classes: String...) -> Widget {
    let label = label(text)
    gtk_label_set_ellipsize(label.native, PANGO_ELLIPSIZE_MIDDLE)
    gtk_label_set_single_line_mode(label.native, 1)
    for name in classes { gtk_widget_add_css_class(label, name) }
    return label
}

@MainActor
func button(icon: String, _ text: String) -> Widget {
    let button = gtk_button_new_from_icon_name(icon)!
    gtk_widget_set_tooltip_text(button, text)
    button.setAccessibleLabel(text)
    gtk_widget_add_css_class(button, "flat")
    return button
}

@MainActor
func button(_ text: String, tooltip: String, _ body: @escaping () -> Void) -> Widget {
    let button = gtk_button_new_with_label(text)!
    gtk_widget_set_tooltip_text(button, tooltip)
    button.setAccessibleLabel(text)
    button.raw.connect("clicked", body)
    return button
}

@MainActor
func toggle(_ text: String, tooltip: String) -> Widget {
    let button = gtk_toggle_button_new_with_label(text)!
    gtk_widget_set_tooltip_text(button, tooltip)
    button.setAccessibleLabel(text)
    return button
}

@MainActor
func onToggle(_ button: Widget, _ body: @escaping (Bool) -> Void) {
    button.raw.connect("toggled") { body(gtk_toggle_button_get_active(button.cast(to: GtkToggleButton.self)) != 0) }
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
