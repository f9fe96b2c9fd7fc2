internal import CWebImageGtk4

/// The texts that assistive technology reads out about images.
@preconcurrency @MainActor
public enum ImageAccessibility {
    /// The accessible description of a widget whose image could not be loaded, until another image is set. Set it in the
    /// language of the user; with `nil` the library sets none. It replaces your own description, which GTK cannot restore.
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

/// The accessible state of one widget, to which several loads may contribute.
@MainActor
final class WidgetAccessibility {
    private let widget: WidgetReference
    private var busyCount = 0
    private var failureCount = 0
    /// Whether the widget has the description of a failure.
    private var isDescribed = false

    init(_ widget: WidgetReference) {
        self.widget = widget
    }

    fileprivate func countBusy(_ isBusy: Bool) {
        busyCount += isBusy ? 1 : -1
        if busyCount == (isBusy ? 1 : 0) { widget.pointer?.setBusy(isBusy) }
    }

    fileprivate func countFailure(_ hasFailed: Bool) {
        failureCount += hasFailed ? 1 : -1
        let text = failureCount > 0 ? ImageAccessibility.failureDescription : nil
        guard (text != nil) != isDescribed else { return }
        isDescribed = text != nil
        widget.pointer?.setDescription(text)
    }
}

/// The contribution of one slot, or of a view, to ``WidgetAccessibility``.
@MainActor
package struct SlotAccessibility {
    /// `nil` if there is no widget, or the image is not part of its content.
    private let widget: WidgetReference?
    package var isBusy = false {
        didSet { if isBusy != oldValue { counter?.countBusy(isBusy) } }
    }
    package var hasFailed = false {
        didSet { if hasFailed != oldValue { counter?.countFailure(hasFailed) } }
    }

    package init(_ widget: WidgetReference?) {
        self.widget = widget
    }

    private var counter: WidgetAccessibility? {
        widget?.pointer.flatMap { WidgetSlots.of(UnsafeMutableRawPointer($0)).accessibility }
    }
}
