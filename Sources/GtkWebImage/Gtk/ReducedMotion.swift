internal import CWebImageGtk4

/// Whether the user wants things to move (gtk-enable-animations).
enum ReducedMotion {
    @MainActor static var isWanted: Bool {
        guard let settings = gtk_settings_get_default() else { return true }
        var value = GValue()
        // G_TYPE_BOOLEAN is a macro that Swift does not read.
        g_value_init(&value, g_type_from_name("gboolean"))
        defer { g_value_unset(&value) }
        let object = UnsafeMutableRawPointer(settings).assumingMemoryBound(to: GObject.self)
        g_object_get_property(object, "gtk-enable-animations", &value)
        return g_value_get_boolean(&value) != 0
    }
}
