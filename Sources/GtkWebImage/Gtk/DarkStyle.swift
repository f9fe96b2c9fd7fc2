internal import CWebImageGtk4
internal import CWebImageGtkShims
import Glibc
import WebImageLinux

/// Whether the style of the app is dark.
///
/// The settings are asked rather than the color of a widget: GTK mixes the text and the background of a window without the focus and
/// of an insensitive widget, so that their colors are about the same in both styles.
@MainActor
enum DarkStyle {
    private static var settings: UnsafeMutableRawPointer? {
        gtk_settings_get_default().map { UnsafeMutableRawPointer($0) }
    }
    private static var adwaita: UnsafeMutableRawPointer? { gwi_adwaita_style().map { UnsafeMutableRawPointer($0) } }

    static var isOn: Bool {
        if let adwaita { return adwaita.number("dark") == 1 }
        guard let settings else { return false }
        // GTK prefers the variable, which may name a variant, as in Adwaita:dark.
        if let theme = getenv("GTK_THEME").map({ String(cString: $0) }), !theme.isEmpty { return isDark(theme) }
        // GTK_INTERFACE_COLOR_SCHEME_DARK of GTK 4.20 is 2.
        if settings.number("gtk-interface-color-scheme") == 2 { return true }
        if settings.number("gtk-application-prefer-dark-theme") == 1 { return true }
        return isDark(settings.text("gtk-theme-name"))
    }

    private static func isDark(_ theme: String) -> Bool { theme.lowercased().hasSuffix("dark") }

    /// Calls back when the style may have changed, as long as the process runs.
    static func observe(_ body: @escaping () -> Void) {
        for name in ["gtk-interface-color-scheme", "gtk-application-prefer-dark-theme", "gtk-theme-name"] {
            settings?.connect("notify::\(name)", body)
        }
        adwaita?.connect("notify::dark", body)
    }
}
