import FoundationEssentials
import WebImageCore

extension DownloaderConfiguration {
    /// The request for a URL.
    /// - Parameters:
    ///   - options: What the one who asks says.
    ///   - isSameOrigin: Whether it goes where they said, rather than where a redirect leads. What is meant for one
    ///     host is not told to another.
    /// - Returns: nil when the modifier refuses.
    func request(_ url: URL, _ options: NetworkOptions, isSameOrigin: Bool) -> HTTPRequest? {
        var headers = headers
        headers["User-Agent"] = headers["User-Agent"] ?? userAgent
        if isSameOrigin {
            headers.merge(options.headers) { $1 }
        } else {
            headers = headers.filter { !Self.secretFields.contains($0.key.lowercased()) }
        }
        if let headerFilter { headers = headerFilter(url, headers) }
        let request = HTTPRequest(url: url, headers: headers)
        guard isSameOrigin, let modifier = options.requestModifier ?? requestModifier else { return request }
        return modifier.modify(request)
    }

    private static let secretFields: Set<String> = ["authorization", "cookie", "proxy-authorization"]
}

extension URL {
    /// Scheme, host and port, as far as they are who one talks to.
    func isSameOrigin(as other: URL) -> Bool {
        origin == other.origin
    }

    private var origin: String {
        let scheme = scheme?.lowercased() ?? ""
        return "\(scheme)://\(host()?.lowercased() ?? ""):\(port ?? (scheme == "https" ? 443 : 80))"
    }
}
