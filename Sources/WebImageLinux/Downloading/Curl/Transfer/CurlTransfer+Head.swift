import FoundationEssentials
import WebImageCore

// The head of the response.
extension CurlTransfer {
    /// Reads the head and decides what to do with the body.
    func receiveHead() {
        var head = exchange.readHead()
        exchange.head = head
        // RFC 9110, 15.4.
        if [301, 302, 303, 307, 308].contains(head.status), head.headers["location"] != nil {
            exchange.verdict = .redirected
            return
        }
        exchange.firstByteAt = .now
        // A 304 may name the coding of the body that it does not have (RFC 9110, section 15.4.5).
        let coding = exchange.isDecodedByCurl || head.status == 304 ? nil : head.headers["content-encoding"]
        if let modifier = key.options.responseModifier ?? configuration.responseModifier {
            guard let modified = modifier.modify(head) else {
                let remedy = "Return a response from the modifier if this URL may be loaded."
                let refused = error(.badResponse, "The response modifier refused the response", remedy: remedy)
                exchange.verdict = .failed(refused)
                return
            }
            head = modified
            exchange.head = modified
        }
        switch (head.status, exchange.part) {
        case (416, .some): exchange.verdict = .resumeRefused
        // The part that is there is not encoded.
        case (206, .some) where coding.map(ContentDecoder.isCoded) == true: exchange.verdict = .resumeRefused
        case (206, .some(let part)): resume(part, head)
        default:
            exchange.expectedCount = head.bodyLength
            // The server has sent another version, or knows no ranges.
            if head.status == 200 { resumed = nil }
            if let error = refusal(of: head) {
                let isRefused = [401, 407].contains(head.status) && exchange.handle?.status == head.status
                exchange.verdict = isRefused ? .refused(error) : .failed(error)
            }
        }
        if case .accepted = exchange.verdict, let coding, ContentDecoder.isCoded(coding) {
            exchange.decoder = ContentDecoder(coding, maximumByteCount: configuration.maximumByteCount)
            if exchange.decoder == nil { exchange.verdict = .failed(unknownCoding(coding)) }
        }
        guard case .accepted = exchange.verdict, let expected = exchange.expectedCount else { return }
        if expected > Int64(configuration.maximumByteCount) {
            exchange.verdict = .failed(bodyTooLarge)
        } else {
            exchange.body.reserve(expected)
        }
    }

    /// Takes note of a proxy that demands a credential before it connects to the server, which has not answered then.
    func receiveRefusalOfProxy() {
        guard exchange.head == nil, let handle = exchange.handle, handle.proxyStatus == 407 else { return }
        let head = ResponseHead(url: exchange.request.url, status: 407, headers: handle.proxyHeaders)
        exchange.head = head
        exchange.verdict = .refused(badStatus(head))
    }

    /// Continues an interrupted body if the response is its rest (RFC 9110, 15.3.7).
    private func resume(_ part: PartialBody, _ head: ResponseHead) {
        // A server that ignores If-Range may send the rest of another version. It has to repeat the entity tag, and need not
        // repeat the date (RFC 9110, 15.3.7).
        let (etag, date) = (head.headers["etag"], head.headers["last-modified"])
        let known = part.version.metadata
        let hasSameTag = etag != nil && etag == known.etag
        guard let range = head.restOfBody, range.start == part.data.count,
            part.version.totalCount.map({ $0 == range.total }) ?? hasSameTag,
            hasSameTag || etag == nil && known.etag == nil && (date == nil || date == known.lastModified)
        else {
            exchange.verdict = .resumeRefused
            return
        }
        exchange.resumedCount = range.start
        exchange.expectedCount = range.total
        part.data.withUnsafeBytes {
            exchange.body.append($0)
            stream($0)
        }
    }

    private func refusal(of head: ResponseHead) -> ImageError? {
        if head.status == 304, exchange.isConditional { return nil }
        guard configuration.acceptedStatusCodes.contains(head.status) else { return badStatus(head) }
        if head.status == 206, exchange.request.headers.field("range") == nil {
            return error(.badResponse, "The server sent a part of the body although the whole was requested")
        }
        guard let accepted = configuration.acceptedContentTypes, let type = head.headers["content-type"] else {
            return nil
        }
        let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        let family = String(name.prefix { $0 != "/" }) + "/*"
        guard !accepted.contains(name), !accepted.contains(family) else { return nil }
        return error(
            .badContentType,
            "The server sent the media type \(name), which is not accepted",
            remedy: "Correct the URL, or add the type to acceptedContentTypes in the downloader's configuration."
        )
    }
}
