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
        /// Whether the desktop has no proxies.
        var isUnneeded = false
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
        (self.timeLimit, self.lookUp) = (timeLimit, lookUp)
    }

    /// The resolver of the desktop's proxies.
    static let desktop = ProxyResolver(lookUp: DesktopProxies.lookUp)

    /// Whether the desktop has no proxies, so that libcurl chooses.
    var isUnneeded: Bool { state.withLock { $0.isUnneeded } }

    /// Call it only if the proxies of the desktop are not ``isUnneeded``.
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

    /// Makes libcurl choose the proxy from now on, because the desktop has none.
    func endLookups() { state.withLock { $0.isUnneeded = true } }

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
