internal import CWebImageGtk4
import WebImageLinux

/// The user's setting for less motion: gtk-enable-animations is off, or gtk-interface-reduced-motion of GTK 4.22 asks for it.
@MainActor
package enum ReducedMotion {
    private static var settings: UnsafeMutableRawPointer? {
        gtk_settings_get_default().map { UnsafeMutableRawPointer($0) }
    }

    /// Whether to keep still.
    package static var isRequested: Bool {
        guard let settings else { return false }
        // GTK_REDUCED_MOTION_NO_PREFERENCE is 0.
        return settings.number("gtk-enable-animations") == 0
            || settings.number("gtk-interface-reduced-motion") ?? 0 != 0
    }

    /// Calls back whenever a setting changes, as long as the process runs.
    static func observe(_ body: @escaping () -> Void) {
        for name in ["gtk-enable-animations", "gtk-interface-reduced-motion"] {
            settings?.connect("notify::\(name)", body)
        }
    }
}
