internal import CWebImageGtk4

/// Names a widget for assistive technology, and the part of it that takes the focus.
@MainActor
func setName(_ widget: Widget, _ name: String) {
    var property = GTK_ACCESSIBLE_PROPERTY_LABEL
    var value = GValue()
    // The type of GValue is a macro for C.
    g_value_init(&value, g_type_from_name("gchararray"))
    g_value_set_string(&value, name)
    for part in [widget, focusedPart(of: widget)].compactMap({ $0 }) {
        gtk_accessible_update_property_value(OpaquePointer(part), 1, &property, &value)
    }
    g_value_unset(&value)
}

/// Names a control that shows an icon alone. Its name is also its tooltip.
@MainActor
func nameIcon(_ widget: Widget, _ name: String) {
    setName(widget, name)
    gtk_widget_set_tooltip_text(widget, name)
}

/// The part of a composite widget that has the focus, which GTK 4.8 presents as a widget of its own.
@MainActor
private func focusedPart(of widget: Widget) -> Widget? {
    let type = String(cString: g_type_name_from_instance(cast(OpaquePointer(widget))))
    switch type {
    case "GtkMenuButton", "GtkDropDown", "GtkScaleButton": return gtk_widget_get_first_child(widget)
    case "GtkEntry", "GtkSearchEntry", "GtkSpinButton":
        return gtk_editable_get_delegate(OpaquePointer(widget)).map { cast($0) }
    default: return nil
    }
}
