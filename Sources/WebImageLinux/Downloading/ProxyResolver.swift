internal import CWebImageGLib
import FoundationEssentials
import Synchronization
import WebImageCore

/// How a URL is reached.
enum ProxyChoice: Sendable, Equatable {
    /// As the environment variables say.
    case environment
    case direct
    /// In the form that CURLOPT_PROXY takes.
    case proxy(String)
}

/// Asks the desktop for proxies, on a thread of its own: a configuration script is fetched over the network.
final class ProxyResolver: Sendable {
    private struct Answer {
        let choice: ProxyChoice
        let expires: ContinuousClock.Instant
    }

    private static let lifetime = Duration.seconds(30)

    private let lookUp: @Sendable (URL) -> [String]?
    private let queue = Mutex<WorkQueue?>(nil)
    private let answers = Mutex<[String: Answer]>([:])

    /// - Parameter lookUp: The proxies of a URL, best first; nil when nobody knows. It may block.
    init(lookUp: @escaping @Sendable (URL) -> [String]?) {
        self.lookUp = lookUp
    }

    /// The desktop's: g_proxy_resolver_lookup.
    static let desktop = ProxyResolver { url in
        guard !isSetByEnvironment, let resolver = g_proxy_resolver_get_default() else { return nil }
        // What GLib falls back to on a machine without any: it knows nothing.
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

    /// Whether a proxy is set by hand, for this program or this session.
    static var isSetByEnvironment: Bool {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        return names.contains { getenv($0) != nil }
    }

    /// - Returns: The answer, when it is known; else nil, and completion gets it later, on another thread.
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
            // The name of the host is for the proxy to resolve, as GIO has it.
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
