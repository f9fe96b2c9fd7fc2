internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// One HTTP exchange: a request and its response. The next exchange, such as that for the target of a redirect, replaces it.
final class Exchange {
    /// How the response is handled.
    enum Verdict {
        /// The body is the image. This is the default until the head says otherwise.
        case accepted
        /// The response is a redirect; its body is discarded.
        case redirected
        /// The server or a proxy demands another request or a credential (401, 407); the body is discarded.
        case refused(ImageError)
        /// The response cannot be used; its body is discarded.
        case failed(ImageError)
        /// The server did not continue the resumed body, so the whole body must be requested.
        case resumeRefused
    }

    /// The transfer, which owns the exchange.
    private unowned let transfer: CurlTransfer
    var request: TransferRequest
    /// The handle that performs the exchange; `nil` before the launch and after the end.
    var handle: CurlHandle?
    /// The time from which the limit for connecting counts, if the exchange must open a connection; `nil` if it may use
    /// an open one.
    let connectStart: ContinuousClock.Instant?
    let requestTime = Date()
    /// The time at which libcurl received the request.
    var launchedAt = ContinuousClock.now
    /// The time limit for connecting.
    var connectTimeout = Duration.zero
    /// The time at which bytes last arrived; `nil` before the first bytes.
    var lastArrival: ContinuousClock.Instant?
    /// The time at which the socket was last active, if it was checked because libcurl delivered nothing.
    var lastSocketActivity: ContinuousClock.Instant?
    /// The port of the socket if it was shut down because nothing arrived on it.
    var shutDownPort: Int?
    /// The bytes of heads and trailers so far.
    private(set) var headByteCount = 0
    /// The bytes of the body so far, as received.
    var bodyByteCount = 0
    /// The start of the speed measurement and the bytes at that time; `nil` while no other server waits.
    var pace: (since: ContinuousClock.Instant, byteCount: Int)?
    var firstByteAt = ContinuousClock.now

    /// The head of the response, after the response modifier; `nil` before it is complete.
    var head: ResponseHead?
    var verdict = Verdict.accepted
    /// The challenge with which the request was refused.
    var challenge: Challenge?
    /// Whether the empty line after the head has arrived. libcurl does not check it when the connection is closed.
    private(set) var hasWholeHead = false
    private var headLineCount = 0

    var body: TransferBody
    /// Removes the coding of the body; `nil` if there is none.
    var decoder: ContentDecoder?
    /// The length of the whole body, if the server states it.
    var expectedCount: Int64?
    /// The length of the part that was kept from an interrupted transfer; `nil` if the body was not resumed.
    var resumedCount: Int64?
    /// Whether the rest was last expected to arrive sooner than a new request would get its first byte.
    var isNearlyComplete = false

    /// The largest head of a response, which is the limit of browsers.
    private static let headLimit = 256 << 10
    /// The largest number of header lines. libcurl searches all of them for the next one, so the cost grows with the
    /// square of their number.
    private static let headLineLimit = 500
    private static let discardLimit = 64 << 10

    init(_ request: TransferRequest, of transfer: CurlTransfer, connectStart: ContinuousClock.Instant? = nil) {
        (self.request, self.transfer, self.connectStart) = (request, transfer, connectStart)
        body = TransferBody(inMemoryBodyLimit: request.configuration.inMemoryBodyLimit, budget: transfer.budget)
    }

    /// Prepares a handle for the exchange, which must live until the handle has left the multi handle. libcurl starts the exchange
    /// when the handle is added there.
    func launch(on handle: CurlHandle) {
        connectTimeout = request.connectTimeout(isQuick: transfer.operations.first?.request.isQuickAttempt == true)
        (self.handle, launchedAt) = (handle, .now)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, to: max(1, Int(connectTimeout.timeoutMilliseconds)))
        if connectStart != nil { handle.set(CURLOPT_FRESH_CONNECT, to: 1) }
        handle.set(CURLOPT_WRITEDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
            // Any other result than the byte count aborts the transfer. For an empty chunk, the count is 0.
            guard count > 0 else { return 0 }
            return exchange.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
        handle.set(CURLOPT_HEADERDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_HEADERFUNCTION) { line, size, count, context in
            let exchange = Unmanaged<Exchange>.fromOpaque(context!).takeUnretainedValue()
            let line = UnsafeRawBufferPointer(start: line, count: size * count)
            return exchange.receiveHeaderLine(line) ? size * count : 0
        }
    }

    /// Ends the exchange with an error.
    /// - Returns: `false`, for the callbacks of libcurl.
    func fail(_ error: ImageError) -> Bool {
        verdict = .failed(error)
        return false
    }

    /// Receives a line of a head or of the trailers.
    /// - Returns: Whether the exchange continues.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        lastArrival = .now
        headByteCount += line.count
        headLineCount += 1
        // An interim response also has a head. Trailers, which follow the body, have no status line.
        if line.starts(with: "HTTP/".utf8) { hasWholeHead = false }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { hasWholeHead = true }
        return headByteCount <= Self.headLimit && headLineCount <= Self.headLineLimit || fail(headTooLarge)
    }

    /// Receives the next bytes of the body. The bytes of an image are kept once they are decoded.
    /// - Returns: Whether the exchange continues.
    private func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        lastArrival = .now
        bodyByteCount += bytes.count
        if head == nil { receiveHead() }
        switch verdict {
        case .resumeRefused:
            return false
        case .redirected, .refused, .failed:
            // Reading a short error page to its end keeps the connection open for the next request.
            return !hasDiscardedTooMuch
        case .accepted:
            guard let decoder else { return keep(bytes) && transfer.pass(bytes) }
            do {
                return try decoder.decode(bytes) { keep($0) && transfer.pass($0) }
            } catch {
                return fail(self.error(error))
            }
        }
    }

    /// Reads the head of the last response from libcurl.
    func readHead() -> ResponseHead {
        ResponseHead(url: request.message.url, status: handle?.status ?? 0, headers: handle?.responseHeaders ?? [:])
    }

    /// Reads the head and decides what to do with the body.
    private func receiveHead() {
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
            part.body.data.withUnsafeBytes { body.append($0, of: rest.total) }
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
        if let expectedCount, expectedCount > Int64(limit) { verdict = .failed(bodyTooLarge) }
    }

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

    /// Keeps bytes of the image.
    /// - Returns: Whether the bytes fit into the limits.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = body.count + bytes.count
        guard count <= request.configuration.maximumByteCount else { return fail(bodyTooLarge) }
        // libcurl does not check the range of a resumed body.
        if resumedCount != nil, let expectedCount, count > expectedCount {
            return fail(
                error(.transferIncomplete, "The server sent more of the body than the range that it stated")
            )
        }
        body.append(bytes, of: expectedCount)
        return true
    }

    /// Turns libcurl's result into the outcome of the exchange.
    func conclude(_ code: CURLcode) -> CurlTransfer.Outcome {
        if code != CURLE_OK {
            receiveRefusalOfProxy()
        } else if head == nil, hasWholeHead {
            // The response has no body.
            receiveHead()
        }
        switch verdict(after: code) {
        case .accepted: return .finished(.success(result))
        case .redirected: return transfer.followRedirect()
        case .refused(let error): return transfer.recover(from: error)
        case .failed(let error): return .failed(error)
        // The whole body is requested.
        case .resumeRefused:
            request.resumed = nil
            return transfer.prepare(request)
        }
    }

    private func verdict(after code: CURLcode) -> Verdict {
        // libcurl reports a connection that was closed within the head as a response without a body.
        if code == CURLE_OK, !hasWholeHead {
            return .failed(error(.transferIncomplete, "The connection was closed before the end of the head"))
        }
        switch verdict {
        case .redirected where code == CURLE_OK || hasDiscardedTooMuch:
            return .redirected
        // HTTP does not show that a server has truncated a body.
        case .accepted where code == CURLE_OK && decoder?.isComplete == false:
            return .failed(error(.transferIncomplete, "The compressed body ends too early: it is truncated"))
        case .accepted where code == CURLE_OK:
            // A resumed body may be shorter than Content-Range says, which libcurl does not check.
            let isShort = resumedCount != nil && expectedCount.map { body.count < $0 } ?? false
            return isShort ? .failed(error(CURLE_PARTIAL_FILE, message: "")) : .accepted
        case .redirected, .accepted:
            guard !wasRefusedWithoutTLS(code) else {
                return .failed(badRedirect("it leads from https to http; allowsInsecureRedirects permits that"))
            }
            // libcurl's text may still describe an earlier failure, such as one of another address.
            let isTimeout = code == CURLE_OPERATION_TIMEDOUT
            return .failed(isTimeout ? transfer.tooSlow : error(code, message: handle?.errorMessage ?? ""))
        case .resumeRefused, .refused, .failed:
            return verdict
        }
    }

    /// Whether more bytes of an unused body were read than keeping the connection is worth.
    private var hasDiscardedTooMuch: Bool { bodyByteCount > Self.discardLimit }

    /// The bytes of the image that this exchange has received, without the resumed part.
    var receivedCount: Int { body.count - Int(resumedCount ?? 0) }

    /// Whether the rest will arrive sooner than a new request would get its first byte; `nil` if that is not known.
    var nearsCompletion: Bool? {
        guard let expectedCount, receivedCount > 0 else { return nil }
        let seconds = (ContinuousClock.now - firstByteAt) / .seconds(1)
        let rest = seconds / Double(receivedCount) * Double(max(0, expectedCount - Int64(body.count)))
        return rest < (firstByteAt - launchedAt) / .seconds(1)
    }

    /// The result of an exchange that has succeeded.
    private var result: LoaderResult {
        let head = head ?? readHead()
        var metadata = metadata(of: head)
        var metrics = handle?.metrics ?? TransferMetrics()
        metrics.waiting = transfer.waitingTime
        metrics.redirectCount = request.redirectCount
        if head.status == 304 {
            metrics.cacheDecision = .notModified
            return LoaderResult(data: Data(), metadata: metadata, head: head, isNotModified: true, metrics: metrics)
        }
        if request.key.validators != nil {
            metrics.cacheDecision = .replaced
        } else if let resumedCount {
            metrics.cacheDecision = .resumed(resumedCount)
            // A response to If-Range omits fields of the earlier response (RFC 9110, 15.3.7).
            if let known = request.resumed?.metadata { metadata = known.renewed(by: metadata) }
        }
        var result = LoaderResult(data: body.data, metadata: metadata, head: head, metrics: metrics)
        result.isInFile = body.isInFile
        // Only the end of the connection ends such a body, so it may be truncated (HTTP/1; RFC 9112, section 6.3).
        result.endsWithConnection =
            handle?.long(CURLINFO_HTTP_VERSION) ?? 0 <= Int(CURL_HTTP_VERSION_1_1) && decoder == nil
            && head.headers["content-length"] == nil && head.headers["transfer-encoding"] == nil
        result.isRange = head.status == 206 && resumedCount == nil
        return result
    }

    /// The metadata of a response and of the redirects that led to it.
    func metadata(of head: ResponseHead) -> ResponseMetadata {
        var metadata = head.metadata(comparedMessage, requestTime: requestTime)
        metadata.redirects = request.redirects.map {
            .init($0.responses, to: request.target, unsigned: request.target.withoutSignature, at: Date())
        }
        return metadata
    }

    /// The request that later requests are compared with: the one before the first redirect.
    var comparedMessage: RequestModifier.Request { request.redirects?.request ?? request.wholeMessage }
}
