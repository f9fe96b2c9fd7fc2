internal import CWebImageGLib
import FoundationEssentials
import Synchronization
import WebImageCore

/// The proxy for one request.
enum ProxyChoice: Sendable, Equatable {
    /// libcurl reads the environment variables.
    case environment
    /// No proxy.
    case direct
    /// A proxy in the form that CURLOPT_PROXY takes.
    case proxy(String)
}

/// Looks up the desktop's proxies on a separate thread, because an automatic configuration script is loaded from the
/// network.
final class ProxyResolver: Sendable {
    private struct Answer {
        let choice: ProxyChoice
        let expires: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(30)

    private let lookUp: @Sendable (URL) -> [String]?
    private let queue = Mutex<WorkQueue?>(nil)
    private let answers = Mutex<[String: Answer]>([:])

    /// - Parameter lookUp: Returns the proxies of a URL, best first; `nil` when they are not known. It may block.
    init(lookUp: @escaping @Sendable (URL) -> [String]?) {
        self.lookUp = lookUp
    }

    /// The resolver that uses g_proxy_resolver_lookup.
    static let desktop = ProxyResolver { url in
        guard !isSetByEnvironment, hasSettings, let resolver = g_proxy_resolver_get_default() else { return nil }
        // GLib falls back to this resolver on a machine without a proxy service.
        guard String(cString: g_type_name_from_instance(asTypeInstance(resolver))) != "GDummyProxyResolver" else {
            return nil
        }
        guard let list = g_proxy_resolver_lookup(resolver, url.absoluteString, nil, nil) else { return nil }
        defer { g_strfreev(list) }
        var proxies: [String] = []
        var next = list
        while let text = next.pointee {
            proxies.append(String(cString: text))
            next += 1
        }
        return proxies
    }

    /// Whether the settings of the desktop's proxy are installed. GNOME's resolver, which GIO tries on every desktop,
    /// ends the process without them (g_settings_new), as in a bundle or a container without gsettings-desktop-schemas.
    private static var hasSettings: Bool {
        guard let source = g_settings_schema_source_get_default(),
            let schema = g_settings_schema_source_lookup(source, "org.gnome.system.proxy", 1)
        else { return false }
        g_settings_schema_unref(schema)
        return true
    }

    /// Whether environment variables set a proxy for this program or session.
    static var isSetByEnvironment: Bool { isSet("http_proxy") || isSetForTLSByEnvironment }

    /// Whether environment variables set a proxy for https URLs.
    static var isSetForTLSByEnvironment: Bool {
        ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"].contains(where: isSet)
    }

    /// Whether a variable names a proxy. libcurl takes an empty one for none.
    private static func isSet(_ name: String) -> Bool { getenv(name).map { $0.pointee != 0 } ?? false }

    /// - Returns: The proxy when it is known; else `nil`, and `completion` gets it later on another thread.
    func choice(for url: URL, completion: @escaping @Sendable (ProxyChoice) -> Void) -> ProxyChoice? {
        let key = "\(url.scheme ?? "")://\(url.host() ?? "")"
        let now = ContinuousClock.now
        let known = answers.withLock { answers in
            answers = answers.filter { $0.value.expires > now }
            return answers[key]?.choice
        }
        if let known { return known }
        let queue = queue.withLock { queue in
            let made = queue ?? WorkQueue(name: "gwi-proxy", threadCount: 1)
            queue = made
            return made
        }
        queue.submit {
            let choice = Self.choice(self.lookUp(url))
            let answer = Answer(choice: choice, expires: now + Self.lifetime)
            self.answers.withLock { $0[key] = answer }
            completion(choice)
        }
        return nil
    }

    private static func choice(_ proxies: [String]?) -> ProxyChoice {
        guard let proxies else { return .environment }
        for proxy in proxies {
            switch proxy.prefix(while: { $0 != ":" }) {
            case "direct": return .direct
            // In GIO the proxy resolves the host name, which libcurl calls socks5h.
            case "socks", "socks5": return .proxy("socks5h" + proxy.drop { $0 != ":" })
            case "socks4", "socks4a", "http", "https": return .proxy(proxy)
            default: continue
            }
        }
        return .direct
    }
}

private func asTypeInstance(_ object: OpaquePointer) -> UnsafeMutablePointer<GTypeInstance> {
    UnsafeMutableRawPointer(object).assumingMemoryBound(to: GTypeInstance.self)
}
