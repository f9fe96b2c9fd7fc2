internal import CWebImageGtk4
import FoundationEssentials

/// The light or dark style. It follows the desktop, through the settings portal, until the user chooses one.
@MainActor
final class ColorScheme {
    private static let namespace = "org.freedesktop.appearance"
    private let action = g_simple_action_new_stateful("dark", nil, g_variant_new_boolean(0))!
    private var isChosen = false

    func addAction(to map: OpaquePointer) {
        connect(action, "activate", arguments: 1) { [weak self] in
            guard let self else { return }
            isChosen = true
            set(!isDark)
        }
        g_action_map_add_action(map, action)
    }

    /// Sets the initial style.
    /// - Parameter isDark: `nil` to follow the desktop if a portal knows its style, which GTK 4.8 does not query.
    func follow(isDark: Bool?) {
        if let isDark {
            isChosen = true
            return set(isDark)
        }
        g_bus_get(
            G_BUS_TYPE_SESSION,
            nil,
            { _, result, context in
                let address = UInt(bitPattern: g_bus_get_finish(result, nil))
                let scheme = Unmanaged<ColorScheme>.fromOpaque(context!).takeRetainedValue()
                MainActor.assumeIsolated { if let bus = OpaquePointer(bitPattern: address) { scheme.ask(bus) } }
            },
            Unmanaged.passRetained(self).toOpaque()
        )
    }

    private var isDark: Bool {
        guard let state = g_action_get_state(action) else { return false }
        defer { g_variant_unref(state) }
        return g_variant_get_boolean(state) != 0
    }

    private func set(_ isDark: Bool) {
        g_simple_action_set_state(action, g_variant_new_boolean(isDark ? 1 : 0))
        guard let settings = gtk_settings_get_default() else { return }
        gwi_settings_set_dark(settings, isDark ? 1 : 0)
    }

    private func ask(_ bus: OpaquePointer) {
        var arguments: [OpaquePointer?] = [
            g_variant_new_string(Self.namespace), g_variant_new_string("color-scheme"),
        ]
        g_dbus_connection_call(
            bus,
            "org.freedesktop.portal.Desktop",
            "/org/freedesktop/portal/desktop",
            "org.freedesktop.portal.Settings",
            "Read",
            g_variant_new_tuple(&arguments, 2),
            nil,
            gwi_dbus_call_none,
            2000,
            nil,
            { bus, result, context in
                let answer = g_dbus_connection_call_finish(OpaquePointer(UnsafeMutableRawPointer(bus)), result, nil)
                defer { if let answer { g_variant_unref(answer) } }
                let scheme = Unmanaged<ColorScheme>.fromOpaque(context!).takeRetainedValue()
                let isDark = ColorScheme.prefersDark(answer)
                MainActor.assumeIsolated { if let isDark, !scheme.isChosen { scheme.set(isDark) } }
            },
            Unmanaged.passRetained(self).toOpaque()
        )
        g_object_unref(UnsafeMutableRawPointer(bus))
    }

    /// - Parameter answer: A tuple of a nested variant with 1 for dark, 2 for light or 0 for neither.
    private nonisolated static func prefersDark(_ answer: OpaquePointer?) -> Bool? {
        guard let answer else { return nil }
        var value = g_variant_get_child_value(answer, 0)!
        while g_variant_is_of_type(value, g_variant_type_checked_("v")) != 0 {
            let inner = g_variant_get_variant(value)!
            g_variant_unref(value)
            value = inner
        }
        defer { g_variant_unref(value) }
        guard g_variant_is_of_type(value, g_variant_type_checked_("u")) != 0 else { return nil }
        return g_variant_get_uint32(value) == 1
    }
}

/// The styles that the theme does not provide.
enum Style {
    @MainActor
    static func load() {
        guard let display = gdk_display_get_default() else { return }
        let provider = gtk_css_provider_new()!
        // A chequered background makes transparency visible.
        let css = """
            .chequered {
                background-color: #ffffff;
                background-image: conic-gradient(#c0c0c0 25%, #ffffff 25% 50%, #c0c0c0 50% 75%, #ffffff 75%);
                background-size: 20px 20px;
            }
            """
        gwi_css_provider_load(provider, css)
        gtk_style_context_add_provider_for_display(
            display,
            OpaquePointer(provider),
            guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION)
        )
        g_object_unref(UnsafeMutableRawPointer(provider))
        // Until the app is installed, its icons are next to the images in the source tree.
        let icons = URL(filePath: ImageServer.standardFolder).deletingLastPathComponent().appending(path: "icons")
        gtk_icon_theme_add_search_path(gtk_icon_theme_get_for_display(display), icons.path())
    }
}
