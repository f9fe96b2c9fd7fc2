internal import CWebImageGtk4

/// What assistive technology is told about images.
@MainActor
public enum ImageAccessibility {
    /// Said of an image that could not be loaded. An app sets it to its user's language.
    public static var failureDescription = "The image could not be loaded"
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Says that something is under way in the widget.
    func setBusy(_ isBusy: Bool) {
        guard isBusy else { return gtk_accessible_reset_state(OpaquePointer(self), GTK_ACCESSIBLE_STATE_BUSY) }
        var value = GValue()
        g_value_init(&value, g_type_from_name("gboolean"))
        defer { g_value_unset(&value) }
        g_value_set_boolean(&value, 1)
        var state = GTK_ACCESSIBLE_STATE_BUSY
        gtk_accessible_update_state_value(OpaquePointer(self), 1, &state, &value)
    }

    func setLabel(_ text: String?) { setText(text, GTK_ACCESSIBLE_PROPERTY_LABEL) }

    func setDescription(_ text: String?) { setText(text, GTK_ACCESSIBLE_PROPERTY_DESCRIPTION) }

    private func setText(_ text: String?, _ property: GtkAccessibleProperty) {
        guard let text else { return gtk_accessible_reset_property(OpaquePointer(self), property) }
        var value = GValue()
        g_value_init(&value, g_type_from_name("gchararray"))
        defer { g_value_unset(&value) }
        g_value_set_string(&value, text)
        var property = property
        gtk_accessible_update_property_value(OpaquePointer(self), 1, &property, &value)
    }
}
