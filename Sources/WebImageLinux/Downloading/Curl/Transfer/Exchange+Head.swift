import FoundationEssentials
import WebImageCore

// The head of the response.
extension Exchange {
    /// Reads the head of the last response from libcurl.
    func readHead() -> ResponseHead {
        ResponseHead(url: request.message.url, status: handle?.status ?? 0, headers: handle?.responseHeaders ?? [:])
    }

    /// Reads the head and decides what to do with the body.
    func receiveHead() {
        var head = readHead()
        self.head = head
        // RFC 9110, 15.4.
        if [301, 302, 303, 307, 308].contains(head.status), head.headers["location"] != nil {
            verdict = .redirected
            return
        }
        firstByteAt = .now
        // A 304 may name the coding of the body that it omits (RFC 9110, section 15.4.5).
        let field = request.isDecodedByCurl || head.status == 304 ? nil : head.headers["content-encoding"]
        let coding = field.flatMap { ContentDecoder.isCoded($0) ? $0 : nil }
        if let modifier = request.key.options.responseModifier ?? request.configuration.responseModifier {
            guard let modified = modifier.modify(head) else {
                let remedy = "Return a response from the modifier if this URL may be loaded."
                verdict = .failed(error(.badResponse, "The response modifier refused the response", remedy: remedy))
                return
            }
            head = modified
            self.head = modified
        }
        switch (head.status, request.part) {
        case (416, .some): verdict = .resumeRefused
        case (206, let part?):
            // The existing part is not encoded.
            guard coding == nil, let rest = part.body.rest(in: head) else {
                verdict = .resumeRefused
                return
            }
            (resumedCount, expectedCount) = (rest.start, rest.total)
            part.body.data.withUnsafeBytes { body.append($0) }
        default:
            expectedCount = head.bodyLength
            // The server has sent another version, or does not support ranges.
            if head.status == 200 { request.resumed = nil }
            if let error = refusal(of: head) {
                let isRefused = [401, 407].contains(head.status) && handle?.status == head.status
                verdict = isRefused ? .refused(error) : .failed(error)
            }
        }
        guard case .accepted = verdict else { return }
        let limit = request.configuration.maximumByteCount
        if let coding {
            decoder = ContentDecoder(coding, maximumByteCount: limit)
            guard decoder != nil else { return verdict = .failed(unknownCoding(coding)) }
        }
        guard let expectedCount else { return }
        if expectedCount > Int64(limit) { verdict = .failed(bodyTooLarge) } else { body.reserve(expectedCount) }
    }

    /// Records that a proxy demands a credential before it connects to the server. The server has not answered then.
    func receiveRefusalOfProxy() {
        guard head == nil, let handle, handle.proxyStatus == 407 else { return }
        let head = ResponseHead(url: request.message.url, status: 407, headers: handle.proxyHeaders)
        self.head = head
        verdict = .refused(badStatus(head))
    }

    /// The metadata of a response, including those of the redirects that led to it.
    func metadata(of head: ResponseHead) -> ResponseMetadata {
        let now = Date()
        var metadata = head.metadata(comparedMessage, requestTime: requestTime, responseTime: now)
        metadata.redirects = request.redirects.map { redirects in
            let target = request.target
            return .init(redirects.responses, to: target, unsigned: target.withoutSignature, at: now)
        }
        return metadata
    }

    /// Records the metadata of a redirect.
    func noteRedirect() {
        guard let head else { return }
        let metadata = head.metadata(comparedMessage, requestTime: requestTime, responseTime: Date())
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

    /// The request that later requests are compared with: the one before the first redirect.
    private var comparedMessage: RequestModifier.Request { request.redirects?.request ?? request.wholeMessage }

    private func refusal(of head: ResponseHead) -> ImageError? {
        let (validators, configuration) = (request.validators, request.configuration)
        if head.status == 304, validators.etag != nil || validators.date != nil { return nil }
        guard configuration.acceptedStatusCodes.contains(head.status) else { return badStatus(head) }
        if head.status == 206, request.message.headers.field("range") == nil {
            return error(.badResponse, "The server sent a part of the body although the whole was requested")
        }
        guard let accepted = configuration.acceptedContentTypes, let type = head.headers["content-type"] else {
            return nil
        }
        let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        let family = String(name.prefix { $0 != "/" }) + "/*"
        guard !accepted.contains(name), !accepted.contains(family) else { return nil }
        let remedy = "Correct the URL, or add the type to acceptedContentTypes in the downloader's configuration."
        return error(.badContentType, "The server sent the media type \(name), which is not accepted", remedy: remedy)
    }
}
