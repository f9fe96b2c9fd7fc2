internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// Requests that were refused with status 401 or 407.
extension CurlTransfer {
    /// A server, by its origin, or a proxy, by its address. What the app answers about one is sent to no other.
    struct Party: Hashable {
        let isProxy: Bool
        let name: String
    }

    /// The demand of a server or proxy for a user name and a password (RFC 9110, 11.6.1).
    struct Challenge {
        let party: Party
        let scheme: Scheme
        let realm: String?
    }

    /// A way to prove that the client knows the password. libcurl needs no further challenge when it may use only one.
    enum Scheme: Int, CaseIterable {
        case digest = 2
        case basic = 1
    }

    /// What the app has answered last about a server or proxy.
    struct Answer {
        var credential: NetworkOptions.Credential?
        var scheme: Scheme
        /// How often the app was asked.
        var attempt: Int
    }

    /// How often a load asks for the credential of one server or proxy.
    private static let maximumAttemptCount = 3

    /// Asks the app for another request, or for a credential.
    /// - Parameter error: The error that stays when it has neither.
    func recover(from error: ImageError) -> Outcome {
        noteChallenge()
        guard !hasAskedModifierAgain, exchange.handle?.status == 401, modifier != nil,
            exchange.target.isSameOrigin(as: key.url)
        else { return askForCredential(insteadOf: error) }
        hasAskedModifierAgain = true
        let refused = (exchange.request, error)
        return request(Step(target: exchange.target, requiresTLS: exchange.requiresTLS, refused: refused))
    }

    /// Asks the app for a credential, if the server or proxy demands a user name and a password.
    /// - Parameter error: The error that stays when the app has none.
    func askForCredential(insteadOf error: ImageError) -> Outcome {
        guard let ask = configuration.credential, let challenge = exchange.challenge else { return .failed(error) }
        let party = challenge.party
        let attempt = (answers[party]?.attempt ?? 0) + 1
        guard attempt <= Self.maximumAttemptCount else { return .failed(error) }
        answers[party] = Answer(scheme: challenge.scheme, attempt: attempt)
        let url = exchange.request.url
        let request = ImageDownloader.CredentialRequest(
            url: url,
            host: party.isProxy ? exchange.proxy.host(for: url) : exchange.host,
            isFromProxy: party.isProxy,
            realm: challenge.realm,
            attempt: attempt
        )
        return .question(
            AppQuestion("The closure for credentials", refusal: error, waitsForUser: true) {
                await ask(request).map { .credential($0) } ?? .refusal
            }
        )
    }

    /// Sends the request once more, with a credential.
    func use(_ credential: NetworkOptions.Credential) -> Outcome {
        if let party = exchange.challenge?.party { answers[party]?.credential = credential }
        replaceExchange(exchange.request, Step(target: exchange.target, requiresTLS: exchange.requiresTLS))
        return .nextExchange
    }

    /// The answer of the app with which requests to a server or proxy are sent.
    func answer(about party: Party) -> (credential: NetworkOptions.Credential, scheme: Scheme)? {
        guard let answer = answers[party], let credential = answer.credential else { return nil }
        return (credential, answer.scheme)
    }

    /// The server or the proxy of the exchange.
    func party(isProxy: Bool) -> Party {
        let url = exchange.request.url
        return Party(isProxy: isProxy, name: isProxy ? exchange.proxy.name(for: url) : url.origin)
    }

    private func noteChallenge() {
        guard let handle = exchange.handle, let head = exchange.head else { return }
        let isProxy = head.status == 407
        // A server that calls itself a proxy gets nothing.
        guard !isProxy || isRefusedByProxy else { return }
        let offered = handle.long(isProxy ? CURLINFO_PROXYAUTH_AVAIL : CURLINFO_HTTPAUTH_AVAIL)
        guard let scheme = Scheme.allCases.first(where: { offered & $0.rawValue != 0 }) else { return }
        let field = head.headers[isProxy ? "proxy-authenticate" : "www-authenticate"] ?? ""
        exchange.challenge = Challenge(party: party(isProxy: isProxy), scheme: scheme, realm: scheme.realm(in: field))
    }

    /// Whether the proxy has refused the request, or the wish for a tunnel to the server. A server may say 407 as well, at the end
    /// of a tunnel or without any proxy.
    private var isRefusedByProxy: Bool {
        guard let handle = exchange.handle else { return false }
        if handle.proxyStatus != 0 { return handle.proxyStatus == 407 }
        return handle.status == 407 && exchange.proxy.answersRequests(for: exchange.request.url)
    }
}

extension CurlTransfer.Scheme {
    /// The realm that a field names behind the scheme.
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

    /// What follows a word in lower case, whatever the case of the text.
    private static func text(after word: String, in text: Substring.UTF8View) -> Substring.UTF8View? {
        let start = text.indices.first { text[$0...].starts(with: word.utf8) { $0 == $1 || $0 | 0x20 == $1 } }
        return start.map { text[$0...].dropFirst(word.utf8.count) }
    }
}
