internal import CWebImageGLib
import Dispatch
import FoundationEssentials
import Synchronization
import WebImageCore

/// The proxy for one request.
enum ProxyChoice: Sendable, Equatable {
    /// libcurl reads the environment variables.
    case environment
    /// No proxy.
    case direct
    /// A proxy in the syntax of CURLOPT_PROXY.
    case proxy(String)
    /// A proxy for all hosts, including those in no_proxy.
    case fixed(String)
}

/// Looks up the desktop's proxies on a separate thread, because an automatic configuration script is loaded from the
/// network, and the session bus may not answer.
///
/// While a lookup exceeds the time limit, libcurl chooses the proxy for all URLs: images appear, but without the
/// desktop's proxy. An app that must not bypass its proxy sets it in the downloader's configuration.
final class ProxyResolver: Sendable {
    private struct State {
        var answers: [String: (choice: ProxyChoice, expires: ContinuousClock.Instant)] = [:]
        /// The completions of the waiting and running lookups, by number.
        var waiting: [UInt64: @Sendable (ProxyChoice) -> Void] = [:]
        var serial = Serial()
        /// Whether a lookup has exceeded the time limit and none has been answered since.
        var isHanging = false
    }

    /// The time limit of the desktop's resolver.
    static let standardTimeLimit = Duration.seconds(5)
    private static let lifetime = Duration.seconds(30)

    private let timeLimit: Duration
    private let lookUp: @Sendable (URL) -> [String]?
    private let queue = WorkQueue(name: "gwi-proxy", threadCount: 1)
    private let state = Mutex(State())

    /// - Parameters:
    ///   - timeLimit: The time after which libcurl chooses the proxy.
    ///   - lookUp: Returns the proxies of a URL, best first; `nil` if they are not known. It may block.
    init(timeLimit: Duration = standardTimeLimit, lookUp: @escaping @Sendable (URL) -> [String]?) {
        self.timeLimit = timeLimit
        self.lookUp = lookUp
    }

    /// The resolver that uses g_proxy_resolver_lookup.
    static let desktop = ProxyResolver { url in
        // Only an app with widgets certainly runs the main loop.
        if g_type_from_name("GtkWidget") != 0 {
            _ = preparation
            isLoaded.wait()
            isLoaded.signal()
        }
        guard let resolver = makeDesktopResolver() else { return nil }
        // GLib falls back to this resolver on a machine without a proxy service.
        let instance = UnsafeMutableRawPointer(resolver).assumingMemoryBound(to: GTypeInstance.self)
        guard String(cString: g_type_name_from_instance(instance)) != "GDummyProxyResolver" else { return nil }
        guard let list = g_proxy_resolver_lookup(resolver, url.absoluteString, nil, nil) else { return nil }
        defer { g_strfreev(list) }
        return (0..<Int(g_strv_length(list))).compactMap { number in list[number].map { String(cString: $0) } }
    }

    /// Loads the resolver of the desktop, a GIO module, on the main loop, which waits until the session bus answers the
    /// module. On another thread, loading would take the lock of GModule and then the lock of the dynamic loader. A
    /// dlopen of libsoup on the main thread takes them in the opposite order, because its constructor calls
    /// g_module_open.
    static let preparation: Void = MainLoopDispatcher.shared.dispatch {
        _ = makeDesktopResolver()
        isLoaded.signal()
    }

    private static let isLoaded = DispatchSemaphore(value: 0)

    /// Returns GIO's resolver, which GIO owns; `nil` if the environment sets a proxy or the settings are missing.
    private static func makeDesktopResolver() -> OpaquePointer? {
        guard !isSetByEnvironment, hasSettings else { return nil }
        // GIO creates the resolver while it holds the lock of its modules, and the resolver waits for the once of the
        // file systems (libproxy) or of the settings (GNOME). gtk_init, on the main thread, enters the once first and
        // then takes the lock. Without these calls, a lookup before gtk_init would deadlock with the main thread.
        _ = g_vfs_get_default()
        if let backend = g_settings_backend_get_default() { g_object_unref(UnsafeMutableRawPointer(backend)) }
        return g_proxy_resolver_get_default()
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
    static var isSetByEnvironment: Bool {
        // libcurl ignores an empty variable.
        ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            .contains { ProxyChoice.variable($0)?.isEmpty == false }
    }

    /// - Returns: The proxy if it is known; else `nil`, and `completion` receives it later on another thread.
    func choice(for url: URL, completion: @escaping @Sendable (ProxyChoice) -> Void) -> ProxyChoice? {
        guard let origin = Self.origin(of: url) else { return .environment }
        let key = origin.absoluteString
        let now = ContinuousClock.now
        let (known, number) = state.withLock { state -> (ProxyChoice?, UInt64) in
            state.answers = state.answers.filter { $0.value.expires > now }
            if let answer = state.answers[key] { return (answer.choice, 0) }
            if state.isHanging { return (.environment, 0) }
            let number = state.serial.next()
            state.waiting[number] = completion
            return (nil, number)
        }
        guard known == nil else { return known }
        guard queue.start() == 0 else {
            state.withLock { _ = $0.waiting.removeValue(forKey: number) }
            return .environment
        }
        queue.submit { self.run(number, origin) }
        return nil
    }

    /// Looks up the proxy of an origin on the lookup thread.
    private func run(_ number: UInt64, _ origin: URL) {
        let key = origin.absoluteString
        let (isWaiting, answer) = state.withLock { ($0.waiting[number] != nil, $0.answers[key]) }
        // An earlier lookup has exceeded the time limit and ended this one.
        guard isWaiting else { return }
        if let answer, answer.expires > .now {
            state.withLock { $0.waiting.removeValue(forKey: number) }?(answer.choice)
            return
        }
        // The clock starts now, because the earlier lookups may have taken long together.
        SystemClock().run(after: timeLimit) { self.stopWaiting(for: number) }
        let choice = Self.choice(lookUp(origin))
        let completion = state.withLock { state in
            state.answers[key] = (choice, .now + Self.lifetime)
            state.isHanging = false
            return state.waiting.removeValue(forKey: number)
        }
        completion?(choice)
    }

    /// Ends all waiting lookups after a running lookup has exceeded the time limit.
    private func stopWaiting(for number: UInt64) {
        let completions = state.withLock { state -> [@Sendable (ProxyChoice) -> Void] in
            guard state.waiting[number] != nil else { return [] }
            state.isHanging = true
            return Array(exchange(&state.waiting, with: [:]).values)
        }
        guard !completions.isEmpty else { return }
        WebImageLog.notice("The desktop does not say which proxy to use; loads go on without its answer.")
        for completion in completions { completion(.environment) }
    }

    /// The part of a URL that a resolver gets. Like browsers, it withholds the path and the query, which may be private.
    private static func origin(of url: URL) -> URL? {
        guard let scheme = url.scheme?.lowercased(), let host = url.host(), !host.isEmpty else { return nil }
        let name = host.contains(":") ? "[\(host)]" : host
        return URL(string: "\(scheme)://\(name)\(url.port.map { ":\($0)" } ?? "")/")
    }

    private static func choice(_ proxies: [String]?) -> ProxyChoice {
        guard let proxies else { return .environment }
        for proxy in proxies {
            switch proxy.prefix(while: { $0 != ":" }) {
            case "direct": return .direct
            // GIO lets the proxy resolve the host name, which libcurl calls socks5h.
            case "socks", "socks5": return .proxy("socks5h" + proxy.drop { $0 != ":" })
            case "socks4", "socks4a", "http", "https": return .proxy(proxy)
            default: continue
            }
        }
        return .direct
    }
}
