import FoundationEssentials
import Glibc
import WebImageCore

// The proxy that a choice means for one URL.
extension ProxyChoice {
    /// The value of an environment variable.
    static let variable: @Sendable (String) -> String? = { getenv($0).map { String(cString: $0) } }

    /// The proxy of a URL; `nil` if it is loaded without a proxy. libcurl applies no_proxy even to a proxy that was set
    /// explicitly, unless it is told not to.
    /// - Parameter variable: Returns the value of an environment variable.
    func address(for url: URL, in variable: (String) -> String? = Self.variable) -> String? {
        let address: String?
        switch self {
        case .environment: address = Self.address(ofEnvironmentFor: url, variable)
        case .direct: address = nil
        case .proxy(let known): address = known
        case .fixed(let known): return known
        }
        guard let address, !Self.isExcepted(url, variable) else { return nil }
        return address
    }

    /// Identifies the proxy of a URL: its address without the user.
    func name(for url: URL, in variable: (String) -> String? = Self.variable) -> String {
        address(for: url, in: variable).map(CurlAddress.withoutUser) ?? ""
    }

    /// The host of the proxy for a URL; empty if there is none.
    func host(for url: URL) -> String {
        guard let address = address(for: url) else { return "" }
        return URL(string: address.contains("://") ? address : "http://\(address)")?.host() ?? ""
    }

    /// Whether a proxy reads the request for a URL and may answer it itself, rather than passing bytes on to the server.
    func answersRequests(for url: URL) -> Bool {
        guard url.scheme?.lowercased() == "http", let address = address(for: url) else { return false }
        return !address.lowercased().hasPrefix("socks")
    }

    /// The proxy of a URL in the environment variables that libcurl reads. HTTP_PROXY is ignored, because CGI programs
    /// get a header field of their request under this name.
    private static func address(ofEnvironmentFor url: URL, _ variable: (String) -> String?) -> String? {
        let isSecure = url.scheme?.lowercased() == "https"
        let names = (isSecure ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]) + ["all_proxy", "ALL_PROXY"]
        // libcurl ignores an empty variable.
        return names.compactMap { variable($0) }.first { !$0.isEmpty }
    }

    /// Whether no_proxy names the host of a URL, or the end of its name. A range of addresses counts as naming every
    /// address, because a server that is mistaken for the proxy would get the proxy's credential.
    private static func isExcepted(_ url: URL, _ variable: (String) -> String?) -> Bool {
        guard let names = variable("no_proxy") ?? variable("NO_PROXY"), !names.isEmpty else { return false }
        let host = CurlAddress.host(of: url).trimming("[]")
        let isAddress = host.contains(":") || host.allSatisfy { $0.isNumber || $0 == "." }
        return names.lowercased().split { $0 == "," || $0.isWhitespace }.contains { name in
            if name == "*" || isAddress && name.contains("/") { return true }
            let end = name.trimming("[].")
            return !end.isEmpty && (host == end || host.hasSuffix(".\(end)"))
        }
    }
}

extension StringProtocol {
    /// The text without the given characters at both ends.
    fileprivate func trimming(_ characters: String) -> String {
        let start = drop { characters.contains($0) }
        guard let last = start.lastIndex(where: { !characters.contains($0) }) else { return "" }
        return String(start[...last])
    }
}
