internal import CWebImageGtk4
import WebImageLinux

/// The user's setting for less motion (gtk-enable-animations is off).
@MainActor
enum ReducedMotion {
    static var isRequested: Bool {
        guard let settings = gtk_settings_get_default() else { return false }
        var value = GValue()
        // Swift does not import the macro G_TYPE_BOOLEAN.
        g_value_init(&value, g_type_from_name("gboolean"))
        defer { g_value_unset(&value) }
        let object = UnsafeMutableRawPointer(settings).assumingMemoryBound(to: GObject.self)
        g_object_get_property(object, "gtk-enable-animations", &value)
        return g_value_get_boolean(&value) == 0
    }

    /// Calls back whenever the setting changes, as long as the process runs.
    static func observe(_ body: @escaping () -> Void) {
        guard let settings = gtk_settings_get_default() else { return }
        UnsafeMutableRawPointer(settings).connect("notify::gtk-enable-animations", body)
    }
}
