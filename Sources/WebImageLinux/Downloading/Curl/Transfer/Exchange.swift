internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// One HTTP exchange: a request and its response. The next one, such as that with the target of a redirect, replaces it.
final class Exchange {
    /// What happens to the body of the response.
    enum Verdict {
        /// The body is the image. This holds until the head says otherwise.
        case accepted
        /// The response is a redirect; its body is discarded.
        case redirected
        /// The server or a proxy demands another request or a credential (401, 407); the body is discarded.
        case refused(ImageError)
        /// The response cannot be used; its body is discarded.
        case failed(ImageError)
        /// The server did not continue the resumed body, so the whole body has to be requested.
        case resumeRefused
    }

    /// The connection that the exchange may use.
    enum Connection {
        case any
        /// One that is not open yet. The limit for connecting may count from an earlier time.
        case fresh(since: ContinuousClock.Instant?)
    }

    /// What the socket says while libcurl hands nothing on.
    enum SocketState {
        case unknown
        /// The socket was active at a later time than that of the last arrival.
        case active(ContinuousClock.Instant)
        /// The socket is shut down because nothing has arrived on it.
        case shutDown(port: Int)
    }

    var request: TransferRequest
    /// The handle that performs the exchange; `nil` before it is launched and after it has ended.
    var handle: CurlHandle?
    let connection: Connection
    /// Whether the name server has answered, also that there is no such host.
    var hasEndedLookup = false
    let requestTime = Date()
    private let startedAt = ContinuousClock.now
    /// The time at which libcurl was given the request.
    private(set) var launchedAt = ContinuousClock.now
    /// The time at which bytes arrived last; `nil` before the first.
    var lastArrival: ContinuousClock.Instant?
    var socketState = SocketState.unknown
    var firstByteAt = ContinuousClock.now

    /// The head of the response, after the response modifier; `nil` before it is complete.
    var head: ResponseHead?
    var verdict = Verdict.accepted
    /// The demand for a credential with which the request was refused.
    var challenge: Challenge?
    /// Whether the empty line after the head has arrived. libcurl does not look for it when the connection is closed.
    private(set) var hasWholeHead = false
    private var headByteCount = 0
    private var headLineCount = 0

    var body: TransferBody
    /// Removes the codings of the body; `nil` when there are none.
    var decoder: ContentDecoder?
    /// The bytes of the body that this exchange brought, without those that were resumed.
    private(set) var receivedCount: Int64 = 0
    /// The bytes of the whole body, where the server states it.
    var expectedCount: Int64?
    /// The bytes that were kept from an interrupted transfer; `nil` when the body was not resumed.
    var resumedCount: Int64?
    /// The bytes of the body at the last progress report.
    var reportedCount: Int64 = 0
    /// Whether the rest was last expected to arrive sooner than a new request would bring its first byte.
    var isNearlyComplete = false
    private var discardedCount = 0

    /// The largest size of the head of a response, which is what browsers take.
    private static let headLimit = 256 << 10
    /// The largest number of header lines. libcurl goes through all of them to find the next one, so that their cost grows
    /// with the square of their number.
    private static let headLineLimit = 500
    private static let discardLimit = 64 << 10

    init(_ request: TransferRequest, budget: MemoryBudget?, connection: Connection = .any) {
        (self.request, self.connection) = (request, connection)
        body = TransferBody(inMemoryBodyLimit: request.configuration.inMemoryBodyLimit, budget: budget)
    }

    func launch(on handle: CurlHandle) {
        (self.handle, launchedAt) = (handle, .now)
        if case .fresh = connection { handle.set(CURLOPT_FRESH_CONNECT, to: 1) }
        request.configure(handle)
    }

    /// Ends the exchange with an error.
    /// - Returns: false, for the callbacks of libcurl.
    func fail(_ error: ImageError) -> Bool {
        verdict = .failed(error)
        return false
    }

    /// Takes a line of a head or of the trailers.
    /// - Returns: Whether the exchange continues.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        // Each interim response has a head, too; trailers, which come after the body, have no status line.
        if line.starts(with: "HTTP/".utf8) { hasWholeHead = false }
        if line.elementsEqual("\r\n".utf8) || line.elementsEqual("\n".utf8) { hasWholeHead = true }
        headByteCount += line.count
        headLineCount += 1
        return headByteCount <= Self.headLimit && headLineCount <= Self.headLineLimit || fail(headTooLarge)
    }

    /// Takes the next bytes of the body, and decodes those of an image.
    /// - Parameter keep: Takes the bytes of the image, and returns whether it wants more.
    /// - Returns: Whether the exchange continues.
    func receive(_ bytes: UnsafeRawBufferPointer, _ keep: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        switch verdict {
        case .resumeRefused:
            return false
        case .redirected, .refused, .failed:
            // Reading a short error page to its end keeps the connection open for the next request.
            discardedCount += bytes.count
            return !hasDiscardedTooMuch
        case .accepted:
            guard let decoder else { return keep(bytes) }
            do {
                return try decoder.decode(bytes, keep)
            } catch {
                return fail(self.error(error))
            }
        }
    }

    /// Keeps bytes of the image.
    /// - Returns: Whether there was room for them.
    func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let count = body.count + bytes.count
        guard count <= request.configuration.maximumByteCount else { return fail(bodyTooLarge) }
        // libcurl does not look at the range of a resumed body.
        if resumedCount != nil, let expectedCount, count > expectedCount {
            return fail(
                error(.transferIncomplete, "The server sent more of the body than the range that it stated")
            )
        }
        body.append(bytes)
        receivedCount += Int64(bytes.count)
        return true
    }

    /// The verdict at the end of the exchange.
    /// - Parameter tooSlow: The error after a time limit of libcurl, which may still have the text of an earlier failure, such as of
    ///   another address.
    func verdict(after code: CURLcode, tooSlow: @autoclosure () -> ImageError) -> Verdict {
        // A server that went away in the middle of the head has said nothing yet. libcurl takes it for a response without a body.
        if code == CURLE_OK, !hasWholeHead {
            return .failed(error(.transferIncomplete, "The connection was closed before the end of the head"))
        }
        switch verdict {
        case .redirected where code == CURLE_OK || hasDiscardedTooMuch:
            return .redirected
        // A server cuts off a body without a sign in HTTP.
        case .accepted where code == CURLE_OK && decoder?.isComplete == false:
            return .failed(error(.transferIncomplete, "The compressed body ends too early: it is truncated"))
        case .accepted where code == CURLE_OK:
            // Less of a resumed body may have arrived than Content-Range says, which libcurl does not look at.
            let isShort = resumedCount != nil && expectedCount.map { body.count < $0 } ?? false
            return isShort ? .failed(error(CURLE_PARTIAL_FILE, message: "")) : .accepted
        case .redirected, .accepted:
            guard !wasRefusedWithoutTLS(code) else {
                return .failed(badRedirect("it leads from https to http; allowsInsecureRedirects permits that"))
            }
            let isTimeout = code == CURLE_OPERATION_TIMEDOUT
            return .failed(isTimeout ? tooSlow() : error(code, message: handle?.errorMessage ?? ""))
        case .resumeRefused, .refused, .failed:
            return verdict
        }
    }

    /// Whether more of an unused body was read than keeping the connection is worth.
    private var hasDiscardedTooMuch: Bool { discardedCount > Self.discardLimit }

    /// Whether the rest will arrive sooner than a new request would bring its first byte; `nil` when that is not known.
    var nearsCompletion: Bool? {
        guard let expectedCount, receivedCount > 0 else { return nil }
        let seconds = (ContinuousClock.now - firstByteAt) / .seconds(1)
        let rest = seconds / Double(receivedCount) * Double(max(0, expectedCount - Int64(body.count)))
        return rest < (firstByteAt - startedAt) / .seconds(1)
    }

    /// The result of an exchange that has succeeded.
    func result(waitingTime: Duration) -> LoaderResult {
        let head = head ?? readHead()
        var metadata = metadata(of: head)
        var metrics = TransferMetrics()
        if let handle { metrics.measure(handle) }
        metrics.waiting = waitingTime
        metrics.redirectCount = request.redirectCount
        if head.status == 304 {
            metrics.cacheDecision = .notModified
            return LoaderResult(data: Data(), metadata: metadata, head: head, isNotModified: true, metrics: metrics)
        }
        if request.key.validators != nil {
            metrics.cacheDecision = .replaced
        } else if let resumedCount {
            metrics.cacheDecision = .resumed(resumedCount)
            // A response to If-Range leaves out what the one before has said (RFC 9110, 15.3.7).
            if let known = request.resumed?.version.metadata { metadata = known.renewed(by: metadata) }
        }
        var result = LoaderResult(data: body.data, metadata: metadata, head: head, metrics: metrics)
        result.isInFile = body.isInFile
        result.endsWithConnection = endsWithConnection(head)
        result.isRange = head.status == 206 && resumedCount == nil
        return result
    }

    /// Whether only the end of the connection, which may have been broken, ends the body (HTTP/1; RFC 9112, section 6.3).
    private func endsWithConnection(_ head: ResponseHead) -> Bool {
        let version = handle?.long(CURLINFO_HTTP_VERSION) ?? 0
        return version <= Int(CURL_HTTP_VERSION_1_1) && decoder == nil
            && head.headers["content-length"] == nil && head.headers["transfer-encoding"] == nil
    }
}
