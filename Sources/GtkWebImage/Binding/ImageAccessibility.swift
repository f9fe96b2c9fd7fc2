internal import CWebImageGtk4

/// The texts that assistive technology reads out about images.
@preconcurrency @MainActor
public enum ImageAccessibility {
    /// The accessible description of a widget whose image could not be loaded, until another image is set. It replaces a description
    /// of the app, which GTK cannot give back; with `nil` the library sets none. An app sets it in the language of its user.
    public static var failureDescription: String? = "The image could not be loaded"
}

extension UnsafeMutablePointer<GtkWidget> {
    /// Tells assistive technology whether the widget is loading.
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

/// The state of one slot, or of a view, that assistive technology knows of.
@MainActor
struct SlotAccessibility {
    private var isBusy = false
    /// Whether the widget has the description of a failure.
    private var isDescribed = false

    mutating func setBusy(_ isBusy: Bool, of widget: WidgetReference?) {
        guard isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        widget?.pointer?.setBusy(isBusy)
    }

    mutating func setFailed(_ hasFailed: Bool, of widget: WidgetReference?) {
        let text = hasFailed ? ImageAccessibility.failureDescription : nil
        guard (text != nil) != isDescribed else { return }
        isDescribed = text != nil
        widget?.pointer?.setDescription(text)
    }
}
