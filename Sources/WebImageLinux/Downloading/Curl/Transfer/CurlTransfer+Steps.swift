import FoundationEssentials
import WebImageCore

/// A question that the app must answer before a transfer continues.
struct AppQuestion: Sendable {
    /// Continues the transfer on the network thread.
    typealias Answer = @Sendable (CurlTransfer) -> CurlTransfer.Outcome

    /// The closure of the app, as the subject of a sentence.
    let subject: String
    /// When the transfer stops waiting; `nil` if it waits for a user and the load has no time limit.
    let deadline: ContinuousClock.Instant?
    /// The error if there is no answer by then.
    let silence: ImageError
    /// Asks the app, and returns what its answer means.
    let ask: @Sendable () async throws -> Answer

    func answer() async -> Answer {
        do {
            return try await ask()
        } catch {
            return { [subject] in .failed($0.exchange.error(error, of: subject)) }
        }
    }
}

// Answers of the request modifier.
extension CurlTransfer {
    /// The maximum number of times that a load asks for a credential of one server or proxy.
    private static let maximumAttemptCount = 3

    /// Asks the request modifier for the request to send, which may involve waiting.
    func ask(_ modifier: RequestModifier, about next: TransferRequest) -> Outcome {
        var request = next
        if case .asking(let refused, _) = request.secondRequest, let response = exchange.head {
            request.message.refusal = RequestModifier.Refusal(headers: refused.headers, response: response)
        }
        switch modifier.function {
        case .immediate(let modify):
            return use(modify(request.message), for: request)
        case .asynchronous(let modify):
            let subject = "The request modifier \(modifier.key)"
            let deadline = ContinuousClock.now + request.idleTimeout
            return .question(
                AppQuestion(
                    subject: subject,
                    deadline: totalDeadline.map { min($0, deadline) } ?? deadline,
                    silence: exchange.unanswered(subject)
                ) { [request] in
                    let modified = try await modify(request.message)
                    return { $0.use(modified, for: request) }
                }
            )
        }
    }

    /// Uses the request that the request modifier has returned, unless it refuses or the request is not valid.
    private func use(_ modified: RequestModifier.Request?, for next: TransferRequest) -> Outcome {
        var (request, message) = (next, modified)
        message?.headers = modified?.headers.withUniqueNames(since: next.message.headers) ?? [:]
        if case .asking(let refused, let error) = request.secondRequest {
            guard message?.isSame(as: refused) == false else { return askForCredential(insteadOf: error) }
            request.secondRequest = .asked
        }
        guard let message else { return .failed(exchange.refusedRequest) }
        guard message.method.isHTTPToken else {
            let reason = "The request modifier has set a method that HTTP does not allow"
            let remedy = "Set a method such as GET or POST, of letters, digits and hyphens."
            return .failed(exchange.error(.invalidRequest, reason, remedy: remedy))
        }
        return prepare(request, as: message)
    }
}

// Requests that were refused with status 401 or 407.
extension CurlTransfer {
    /// Asks the app for another request, or for a credential.
    /// - Parameter error: The error to report if the app provides neither.
    func recover(from error: ImageError) -> Outcome {
        exchange.challenge = Challenge(exchange)
        var request = exchange.request
        guard case .notAsked = request.secondRequest, exchange.handle?.status == 401, request.modifier != nil,
            request.target.origin == url.origin
        else { return askForCredential(insteadOf: error) }
        exchange.request.secondRequest = .asked
        request.secondRequest = .asking(insteadOf: request.message, error)
        return prepare(request)
    }

    /// Asks the app for a credential, if the server or proxy demands a user name and a password.
    /// - Parameter error: The error to report if the app has no credential.
    private func askForCredential(insteadOf error: ImageError) -> Outcome {
        let request = exchange.request
        guard !key.connectsOnly, let ask = request.configuration.credential, let challenge = exchange.challenge,
            case let (party, attempt) = (challenge.party, request.attemptCounts[challenge.party, default: 0] + 1),
            attempt <= Self.maximumAttemptCount
        else { return .failed(error) }
        exchange.request.answers[party] = nil
        exchange.request.attemptCounts[party] = attempt
        let demand = ImageDownloader.CredentialRequest(
            url: request.message.url,
            host: party.isProxy ? request.proxy.host(for: request.message.url) : request.origin.host,
            isFromProxy: party.isProxy,
            realm: challenge.realm,
            attempt: attempt
        )
        // A timeout would be retried, and the user asked again.
        return .question(
            AppQuestion(subject: "The closure for credentials", deadline: totalDeadline, silence: error) {
                guard let credential = await ask(demand) else { return { _ in .failed(error) } }
                return { transfer in
                    transfer.exchange.request.answers[party] = (credential, challenge.scheme)
                    transfer.exchange = Exchange(transfer.exchange.request, of: transfer)
                    return .nextExchange
                }
            }
        )
    }
}

// Redirects.
extension CurlTransfer {
    /// Follows the redirect of the exchange, to the target that the app chooses.
    func followRedirect() -> Outcome {
        exchange.noteRedirect()
        let limit = exchange.request.configuration.maximumRedirects
        guard exchange.request.redirectCount <= limit else {
            return .failed(exchange.badRedirect("it is one more than the limit of \(limit)"))
        }
        guard let target = exchange.redirectTarget,
            target.host()?.isEmpty == false || target.scheme?.hasPrefix("http") == false
        else { return .failed(exchange.badRedirect("its target is not a URL")) }
        guard ["http", "https"].contains(target.scheme?.lowercased() ?? "") else {
            return .failed(exchange.badRedirect("its target has the scheme \(target.scheme ?? "")"))
        }
        if let refusal = askOperations(about: target) { return .failed(refusal) }
        var next = exchange.request
        next.target = target
        next.requiresTLS = next.isSecure && !next.configuration.allowsInsecureRedirects
        return prepare(next)
    }

    /// Asks the operations whether the transfer may load a URL, and ends those that refuse.
    /// - Returns: The error if all of them refuse.
    private func askOperations(about target: URL) -> ImageError? {
        let target = CurlAddress.normalized(target) ?? target
        exchange.request.redirectTargets.append(target)
        let refusals = operations.map { ($0, $0.refusal(of: target)) }
        guard refusals.contains(where: { $0.1 == nil }) else { return refusals.first?.1 }
        for case (let operation, let error?) in refusals {
            operations.removeAll { $0 === operation }
            operation.send(.finished(.failure(error)))
        }
        return nil
    }
}

extension Exchange {
    /// Records that a proxy demands a credential before it connects to the server. The server has not answered then.
    func receiveRefusalOfProxy() {
        guard head == nil, let handle, handle.proxyStatus == 407 else { return }
        let head = ResponseHead(url: request.message.url, status: 407, headers: handle.proxyHeaders)
        self.head = head
        verdict = .refused(badStatus(head))
    }

    /// Records the metadata of a redirect.
    func noteRedirect() {
        guard let head else { return }
        let metadata = head.metadata(comparedMessage, requestTime: requestTime)
        request.redirects = (comparedMessage, (request.redirects?.responses ?? []) + [(head.status, metadata)])
    }

    /// The target of a redirect.
    var redirectTarget: URL? {
        let location = head?.headers["location"] ?? ""
        // An empty reference means the same resource (RFC 3986, section 4.4), but libcurl resolves it to the folder.
        if location.isEmpty || location.hasPrefix("#") { return request.message.url }
        if let text = handle?.redirectURL { return URL(string: text) }
        // libcurl knows no target if the exchange was stopped before its end.
        return URL(string: location, relativeTo: request.message.url)?.absoluteURL
    }
}
