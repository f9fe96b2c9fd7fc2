internal import CWebImageGLib
import Dispatch
import FoundationEssentials
import WebImageCore

/// The proxies of the desktop, from g_proxy_resolver_lookup.
enum DesktopProxies {
    /// Returns the proxies of a URL, best first; `nil` if they are not known.
    static let lookUp: @Sendable (URL) -> [String]? = { url in
        // Only an app with widgets certainly runs the main loop.
        if g_type_from_name("GtkWidget") != 0 {
            _ = preparation
            isLoaded.wait()
            isLoaded.signal()
        }
        guard let resolver = makeResolver(), let list = g_proxy_resolver_lookup(resolver, url.absoluteString, nil, nil)
        else { return nil }
        defer { g_strfreev(list) }
        return (0..<Int(g_strv_length(list))).compactMap { number in list[number].map { String(cString: $0) } }
    }

    /// Loads the resolver of the desktop, a GIO module, on the main loop, which waits until the session bus answers the
    /// module. On another thread, loading would take the lock of GModule and then the lock of the dynamic loader. A
    /// dlopen of libsoup on the main thread takes them in the opposite order, because its constructor calls
    /// g_module_open.
    static let preparation: Void = MainLoopDispatcher.shared.dispatch {
        _ = makeResolver()
        isLoaded.signal()
    }

    private static let isLoaded = DispatchSemaphore(value: 0)

    /// Returns GIO's resolver, which GIO owns; `nil` if the environment sets a proxy or the desktop has none.
    private static func makeResolver() -> OpaquePointer? {
        guard !isSetByEnvironment else { return nil }
        guard hasSettings else {
            ProxyResolver.desktop.endLookups()
            return nil
        }
        // GIO creates the resolver while it holds the lock of its modules, and the resolver waits for the once of the
        // file systems (libproxy) or of the settings (GNOME). gtk_init, on the main thread, enters the once first and
        // then takes the lock. Without these calls, a lookup before gtk_init would deadlock with the main thread.
        _ = g_vfs_get_default()
        if let backend = g_settings_backend_get_default() { g_object_unref(UnsafeMutableRawPointer(backend)) }
        guard let resolver = g_proxy_resolver_get_default() else { return nil }
        // GLib falls back to this resolver on a machine without a proxy service.
        let instance = UnsafeMutableRawPointer(resolver).assumingMemoryBound(to: GTypeInstance.self)
        guard String(cString: g_type_name_from_instance(instance)) == "GDummyProxyResolver" else { return resolver }
        ProxyResolver.desktop.endLookups()
        return nil
    }

    /// Whether the settings of the desktop's proxy are installed. GNOME's resolver, which GIO tries on every desktop, aborts
    /// the process without them (g_settings_new), for example in a bundle or container without gsettings-desktop-schemas.
    private static var hasSettings: Bool {
        guard let source = g_settings_schema_source_get_default(),
            let schema = g_settings_schema_source_lookup(source, "org.gnome.system.proxy", 1)
        else { return false }
        g_settings_schema_unref(schema)
        return true
    }

    /// Whether environment variables set a proxy for this program or session.
    private static var isSetByEnvironment: Bool {
        // libcurl ignores an empty variable.
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            .contains { ProxyChoice.variable($0)?.isEmpty == false }
    }
}
