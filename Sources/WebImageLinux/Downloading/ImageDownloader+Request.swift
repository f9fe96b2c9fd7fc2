import FoundationEssentials
import WebImageCore

extension ImageDownloader.Configuration {
    /// Makes the request for a URL.
    /// - Parameters:
    ///   - options: The options of the load.
    ///   - isSameOrigin: Whether the URL has the origin that the load asked for. A redirect to another origin gets
    ///     neither the options' header fields nor credentials.
    /// - Returns: The request; `nil` when the request modifier refuses it.
    func request(_ url: URL, options: NetworkOptions, isSameOrigin: Bool) -> RequestModifier.Request? {
        var headers = headers
        headers["User-Agent"] = headers["User-Agent"] ?? userAgent
        if isSameOrigin {
            headers.merge(options.headers) { $1 }
        } else {
            headers = headers.filter { !Self.secretFields.contains($0.key.lowercased()) }
        }
        if let headerFilter { headers = headerFilter(url, headers) }
        let request = RequestModifier.Request(url: url, headers: headers)
        guard isSameOrigin, let modifier = options.requestModifier ?? requestModifier else { return request }
        return modifier.modify(request)
    }

    private static let secretFields: Set<String> = ["authorization", "cookie", "proxy-authorization"]
}

extension URL {
    /// Whether two URLs have the same scheme, host and port (RFC 6454, 4).
    func isSameOrigin(as other: URL) -> Bool {
        origin == other.origin
    }

    private var origin: String {
        let scheme = scheme?.lowercased() ?? ""
        return "\(scheme)://\(host()?.lowercased() ?? ""):\(port ?? (scheme == "https" ? 443 : 80))"
    }
}
