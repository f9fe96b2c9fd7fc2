internal import CWebImageGtk4

/// Tells which controls of a window have a name for assistive technology.
@MainActor
enum ControlNames {
    struct Control {
        /// Its type, after that of the widget that it is in.
        let type: String
        let isNamed: Bool
    }

    /// Finds what can take the focus in a widget, also in parts that are hidden and in popovers. A container that takes the focus
    /// only for want of a control in it, and so says nothing by itself, is no control.
    static func controls(below widget: Widget) -> [Control] {
        var controls: [Control] = []
        let type = typeName(widget)
        if gtk_widget_get_focusable(widget) != 0, !containers.contains(type) {
            let parent = gtk_widget_get_parent(widget).map { "\(typeName($0))/" } ?? ""
            controls.append(Control(type: parent + type, isNamed: hasName(widget)))
        }
        // The button of a search bar that closes it is never shown here.
        let children =
            type == "GtkSearchBar"
            ? [gtk_search_bar_get_child(OpaquePointer(widget))].compactMap { $0 } : childWidgets(of: widget)
        for child in children { controls += self.controls(below: child) }
        return controls
    }

    private static func typeName(_ widget: Widget) -> String {
        String(cString: g_type_name_from_instance(cast(OpaquePointer(widget))))
    }

    private static let containers: Set = ["GtkScrolledWindow", "GtkPopover", "GtkPopoverMenu"]

    /// Whether a widget has a label for assistive technology, or a text in it. GTK 4.8 does not tell it tooltips.
    private static func hasName(_ widget: Widget) -> Bool {
        let accessible = OpaquePointer(widget)
        if gtk_test_accessible_has_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL) != 0
            || gtk_test_accessible_has_relation(accessible, GTK_ACCESSIBLE_RELATION_LABELLED_BY) != 0
        {
            return true
        }
        return !texts(in: widget).isEmpty
    }

    /// The texts of the labels in a widget, or of those that are on screen.
    static func texts(in widget: Widget, onScreen: Bool = false) -> [String] {
        guard !onScreen || gtk_widget_get_mapped(widget) != 0 else { return [] }
        guard g_type_check_instance_is_a(cast(OpaquePointer(widget)), gtk_label_get_type()) != 0 else {
            return childWidgets(of: widget).flatMap { texts(in: $0, onScreen: onScreen) }
        }
        return [String(cString: gtk_label_get_text(OpaquePointer(widget)))].filter { !$0.isEmpty }
    }
}
