import FoundationEssentials
import WebImageCore

// Requests that were refused with status 401 or 407.
extension CurlTransfer {
    /// How often a load asks the challenge handler about one realm.
    private static let maximumChallengeCount = 3
    /// How often a load asks the challenge handler at all: a server can name another realm each time.
    private static let maximumTotalCount = 6

    /// Asks the app for another request, or for a credential.
    /// - Parameter error: The error that stays when it has neither.
    func recover(from error: ImageError) -> Outcome {
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
        let isFromProxy = exchange.head?.status == 407
        // A server that calls itself a proxy gets nothing.
        guard let handler = configuration.challengeHandler, let head = exchange.head,
            let (scheme, realm) = challenge(in: head), !isFromProxy || isRefusedByProxy
        else { return .failed(error) }
        let space = CredentialSpace(server: server(isProxy: isFromProxy), realm: realm)
        let count = challengeCounts[space, default: 0] + 1
        guard count <= Self.maximumChallengeCount,
            challengeCounts.values.reduce(0, +) < Self.maximumTotalCount
        else { return .failed(error) }
        challengeCounts[space] = count
        let challenge = ImageDownloader.AuthenticationChallenge(
            url: exchange.request.url,
            host: space.isProxy ? exchange.proxy.host(for: exchange.request.url) : exchange.host,
            isFromProxy: space.isProxy,
            scheme: scheme,
            realm: realm,
            attempt: count
        )
        return .question(
            AppQuestion("The challenge handler", refusal: error, space: space) {
                guard let credential = try await handler(challenge) else { return .refusal }
                return .credential(ChallengeCredential(credential: credential, scheme: scheme), space)
            }
        )
    }

    /// The strongest challenge of the response that a user name and a password meet; `nil` when there is none.
    private func challenge(
        in head: ResponseHead
    ) -> (scheme: ImageDownloader.AuthenticationChallenge.Scheme, realm: String?)? {
        let field = head.headers[head.status == 407 ? "proxy-authenticate" : "www-authenticate"]
        let offers = ChallengeField.challenges(in: field ?? "")
        if let digest = offers.first(where: { $0.scheme == "digest" }) { return (.digest, digest.realm) }
        return offers.first { $0.scheme == "basic" }.map { (.basic, $0.realm) }
    }

    /// Whether the proxy has refused the request, or the wish for a tunnel to the server. A server may say 407 as well, at the end
    /// of a tunnel or without any proxy.
    var isRefusedByProxy: Bool {
        guard let handle = exchange.handle else { return false }
        if handle.proxyStatus != 0 { return handle.proxyStatus == 407 }
        return handle.status == 407 && exchange.proxy.answersRequests(for: exchange.request.url)
    }

    /// The server or the proxy of the exchange.
    func server(isProxy: Bool) -> CredentialSpace.Server {
        let url = exchange.request.url
        // Invalid certificates are accepted from servers only.
        return isProxy
            ? CredentialSpace.Server(isProxy: true, name: exchange.proxy.name(for: url))
            : CredentialSpace.Server(
                isProxy: false,
                isVerified: !key.options.allowsInvalidCertificates,
                name: url.origin
            )
    }

    /// Whether a response that asks for a credential means another realm than that of the credential it was sent.
    func asksForOtherRealm(than space: CredentialSpace, _ handle: CurlHandle) -> Bool {
        // The proxy of a tunnel has answered in place of the server.
        let isTunnel = space.isProxy && handle.status != 407
        let headers = isTunnel ? handle.proxyHeaders : handle.responseHeaders
        let head = ResponseHead(url: exchange.request.url, status: space.isProxy ? 407 : 401, headers: headers)
        return challenge(in: head).map { $0.realm != space.realm } ?? false
    }

    /// Sends the request once more, with a credential.
    func use(_ credential: ChallengeCredential, for space: CredentialSpace) -> Outcome {
        credentials[space.server] = (space, credential)
        replaceExchange(exchange.request, Step(target: exchange.target, requiresTLS: exchange.requiresTLS))
        return .nextExchange
    }
}
