internal import CWebImageAdwaita
internal import CWebImageGtk4

/// A list of names with their values, which look as in the settings of the desktop.
@MainActor
func boxedList(_ rows: [(name: String, value: String)]) -> Widget {
    let list = gtk_list_box_new()!
    gtk_widget_add_css_class(list, "boxed-list")
    gtk_list_box_set_selection_mode(OpaquePointer(list), GTK_SELECTION_NONE)
    for row in rows {
        let widget = adw_action_row_new()!
        adw_preferences_row_set_title(cast(OpaquePointer(widget)), row.name)
        adw_action_row_add_suffix(cast(OpaquePointer(widget)), valueLabel(row.value, "dim-label"))
        gtk_list_box_append(OpaquePointer(list), widget)
    }
    return list
}

/// Keeps a widget at a readable width in the middle of its room, below which the rest scrolls.
/// - Parameter width: The most, in application pixels.
@MainActor
func clamped(_ widget: Widget, width: Int32) -> Widget {
    let clamp = adw_clamp_new()!
    adw_clamp_set_maximum_size(OpaquePointer(clamp), width)
    adw_clamp_set_child(OpaquePointer(clamp), widget)
    let scrolled = gtk_scrolled_window_new()!
    gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
    gtk_scrolled_window_set_child(OpaquePointer(scrolled), clamp)
    return scrolled
}
