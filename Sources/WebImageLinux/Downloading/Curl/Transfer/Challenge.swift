internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// The demand of a server or proxy for a user name and a password (RFC 9110, 11.6.1).
struct Challenge {
    /// A server, identified by its origin, or a proxy, by its address. A credential for one is never sent to another.
    enum Party: Hashable {
        case server(Origin)
        case proxy(String)

        var isProxy: Bool { if case .proxy = self { true } else { false } }
    }

    /// A way to prove knowledge of the password. If libcurl may use only one scheme, it needs no further challenge.
    enum Scheme: Int, CaseIterable {
        case digest = 2
        case basic = 1
    }

    let party: Party
    let scheme: Scheme
    let realm: String?

    /// Reads the challenge of a response with status 401 or 407; `nil` if there is none that the library can answer.
    init?(_ exchange: Exchange) {
        guard let handle = exchange.handle, let head = exchange.head else { return nil }
        let isProxy = head.status == 407
        // A server that poses as a proxy gets no credential.
        guard !isProxy || Self.isRefusedByProxy(handle, exchange.request) else { return nil }
        let offered = handle.long(isProxy ? CURLINFO_PROXYAUTH_AVAIL : CURLINFO_HTTPAUTH_AVAIL)
        guard let scheme = Scheme.allCases.first(where: { offered & $0.rawValue != 0 }) else { return nil }
        let field = head.headers[isProxy ? "proxy-authenticate" : "www-authenticate"] ?? ""
        let request = exchange.request
        party = isProxy ? .proxy(request.proxy.name(for: request.message.url)) : .server(request.origin)
        self.scheme = scheme
        realm = scheme.realm(in: field)
    }

    /// Whether the proxy has refused the request, or the tunnel to the server. A server may also answer 407, at the end
    /// of a tunnel or without any proxy.
    private static func isRefusedByProxy(_ handle: CurlHandle, _ request: TransferRequest) -> Bool {
        if handle.proxyStatus != 0 { return handle.proxyStatus == 407 }
        return handle.status == 407 && request.proxy.answersRequests(for: request.message.url)
    }
}

extension Challenge.Scheme {
    /// The realm that a field names after the scheme.
    fileprivate func realm(in field: String) -> String? {
        guard let challenge = Self.text(after: "\(self)", in: field.utf8[...]),
            let value = Self.text(after: "realm=", in: challenge)
        else { return nil }
        let quote = UInt8(ascii: "\"")
        let text =
            value.first == quote
            ? value.dropFirst().prefix { $0 != quote }
            : value.prefix { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: " ") }
        return String(decoding: text, as: UTF8.self)
    }

    /// The text after a lower-case word, which is found regardless of case.
    private static func text(after word: String, in text: Substring.UTF8View) -> Substring.UTF8View? {
        let start = text.indices.first { text[$0...].starts(with: word.utf8) { $0 == $1 || $0 | 0x20 == $1 } }
        return start.map { text[$0...].dropFirst(word.utf8.count) }
    }
}
