internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// From one exchange to the next: the request modifier, and redirects.
extension CurlTransfer {
    /// The exchange that is being prepared.
    struct Step {
        /// The URL before the request modifier.
        let target: URL
        /// Whether the exchange goes over TLS or not at all.
        var requiresTLS = false
        /// The request that was refused with status 401, and the error that stays when the modifier knows no other.
        var refused: (request: RequestModifier.Request, error: ImageError)?
    }

    /// Prepares the first exchange.
    func begin() -> Outcome { request(Step(target: url)) }

    /// Prepares the same exchange for the whole body, because the server did not continue the part of it.
    func requestWhole() -> Outcome {
        resumed = nil
        return request(Step(target: exchange.target, requiresTLS: exchange.requiresTLS))
    }

    /// Prepares an exchange, for which the request modifier may have to be waited for.
    func request(_ next: Step) -> Outcome {
        step = next
        let isSameOrigin = next.target.isSameOrigin(as: key.url)
        var request = configuration.request(next.target, options: key.options, isSameOrigin: isSameOrigin)
        guard isSameOrigin, let modifier else { return use(request, insteadOf: request) }
        if let refused = next.refused, let response = exchange.head {
            request.refusal = RequestModifier.Refusal(headers: refused.request.headers, response: response)
        }
        switch modifier.function {
        case .immediate(let modify):
            return use(modify(request), insteadOf: request)
        case .asynchronous(let modify):
            let subject = "The request modifier \(modifier.key)"
            return .question(
                AppQuestion(subject, refusal: refusedRequest) { [request] in
                    .request(try await modify(request), insteadOf: request)
                }
            )
        }
    }

    var modifier: RequestModifier? { key.options.requestModifier ?? configuration.requestModifier }

    /// Replaces the exchange by one with a request.
    ///
    /// It fails with `invalidRequest` when the request modifier refuses the request, and with `invalidURL` without a host, for which
    /// libcurl takes the first component of the path.
    /// - Parameter plain: The request before the modifier.
    private func use(_ request: RequestModifier.Request?, insteadOf plain: RequestModifier.Request) -> Outcome {
        let request = request.map { modified in
            var request = modified
            request.headers = modified.headers.withUniqueNames(since: plain.headers)
            return request
        }
        if let refused = step.refused, request?.isSame(as: refused.request) ?? true {
            return askForCredential(insteadOf: refused.error)
        }
        guard let request else { return .failed(refusedRequest) }
        guard request.method.isHTTPToken else {
            return .failed(
                error(
                    .invalidRequest,
                    "The request modifier has set a method that HTTP does not allow",
                    remedy: "Set a method such as GET or POST, of letters, digits and hyphens."
                )
            )
        }
        guard request.url.host()?.isEmpty == false else {
            return .failed(
                error(
                    .invalidURL,
                    "The URL has no host",
                    remedy: "Write the host after http:// or https://, as in https://example.org/image.png."
                )
            )
        }
        replaceExchange(request, step)
        return .nextExchange
    }

    /// Goes on with an answer of the app.
    func goOn(with answer: AppQuestion.Answer, to question: AppQuestion) -> Outcome {
        switch answer {
        case .request(let request, let plain): use(request, insteadOf: plain)
        case .target(let target): follow(target)
        case .credential(let credential): use(credential)
        case .refusal: .failed(question.refusal)
        case .failure(let failure): .failed(error(failure, of: question))
        }
    }
}

// Redirects.
extension CurlTransfer {
    /// Follows the redirect of the exchange, to wherever the app wants.
    func followRedirect() -> Outcome {
        redirectCount += 1
        noteRedirect()
        guard let target = redirectTarget else { return .failed(badRedirect("its target is not a URL")) }
        guard redirectCount <= configuration.maximumRedirects else {
            return .failed(badRedirect("it is one more than the limit of \(configuration.maximumRedirects)"))
        }
        guard let handler = configuration.redirectHandler, let head = exchange.head else { return follow(target) }
        let redirect = ImageDownloader.Redirect(response: head, target: target)
        return .question(
            AppQuestion("The redirect handler", refusal: refusedRedirect(to: target)) {
                try await handler(redirect).map { .target($0) } ?? .refusal
            }
        )
    }

    private func noteRedirect() {
        guard let head = exchange.head else { return }
        let request = redirects?.request ?? wholeRequest
        let metadata = head.metadata(request, requestTime: exchange.requestTime, responseTime: Date())
        redirects = (request, (redirects?.responses ?? []) + [(head.status, metadata)])
    }

    private var redirectTarget: URL? {
        let location = exchange.head?.headers["location"] ?? ""
        // The same resource (RFC 3986, section 4.4), for which libcurl takes its folder.
        if location.isEmpty || location.hasPrefix("#") { return exchange.request.url }
        if let text = exchange.handle?.redirectURL { return URL(string: text) }
        // libcurl knows no target when the exchange was stopped before its end.
        return URL(string: location, relativeTo: exchange.request.url)?.absoluteURL
    }

    private func follow(_ target: URL) -> Outcome {
        guard target.host()?.isEmpty == false || target.scheme?.hasPrefix("http") == false else {
            return .failed(badRedirect("its target is not a URL"))
        }
        guard ["http", "https"].contains(target.scheme?.lowercased() ?? "") else {
            return .failed(badRedirect("its target has the scheme \(target.scheme ?? "")"))
        }
        if let refusal = askOperations(about: target) { return .failed(refusal) }
        let requiresTLS = exchange.isSecure && !configuration.allowsInsecureRedirects
        return request(Step(target: target, requiresTLS: requiresTLS))
    }

    /// Whether libcurl has found that an exchange which requires TLS would go without it, before it connected.
    func wasRefusedWithoutTLS(_ code: CURLcode) -> Bool {
        code == CURLE_UNSUPPORTED_PROTOCOL && exchange.requiresTLS && exchange.handle?.isConnected == false
    }

    /// Asks the operations whether the transfer may lead to a URL, and ends those that refuse.
    /// - Returns: The error when all of them refuse.
    private func askOperations(about target: URL) -> ImageError? {
        let target = CurlAddress.normalized(target) ?? target
        redirectTargets.append(target)
        let refusals = operations.map { ($0, $0.refusal(of: target)) }
        guard refusals.contains(where: { $0.1 == nil }) else { return refusals.first?.1 }
        for case (let operation, let error?) in refusals {
            leave(operation)
            operation.send(.finished(.failure(error)))
        }
        return nil
    }
}
