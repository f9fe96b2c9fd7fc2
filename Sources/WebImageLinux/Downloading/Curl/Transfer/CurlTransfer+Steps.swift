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

// The steps from one exchange to the next: the request modifier, credentials, and redirects.
extension CurlTransfer {
    /// The maximum number of times that a load asks for a credential of one server or proxy.
    private static let maximumAttemptCount = 3

    /// Prepares an exchange, which may involve waiting for the request modifier.
    func prepare(_ next: TransferRequest) -> Outcome {
        var request = next
        request.message = request.plainMessage
        guard !key.connectsOnly, request.target.isSameOrigin(as: url), let modifier = request.modifier else {
            return use(request.message, for: request)
        }
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

    /// Replaces the exchange by one with the request that the request modifier has returned.
    ///
    /// Fails with `invalidRequest` if the modifier refuses the request, and with `invalidURL` if the URL has no host,
    /// because libcurl would then take the first component of the path as the host.
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
        guard message.url.host()?.isEmpty == false else {
            let remedy = "Write the host after http:// or https://, as in https://example.org/image.png."
            return .failed(exchange.error(.invalidURL, "The URL has no host", remedy: remedy))
        }
        request.message = message
        exchange = Exchange(request, budget: budget)
        isPrepared = true
        return .nextExchange
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
            request.target.isSameOrigin(as: url)
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
            host: party.isProxy ? request.proxy.host(for: request.message.url) : request.host,
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
                    transfer.exchange = Exchange(transfer.exchange.request, budget: transfer.budget)
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
