internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// Requests with equal keys are one transfer.
struct TransferKey: Hashable {
    let url: URL
    let options: NetworkOptions
    let validators: ResponseMetadata.Validators?

    init(_ request: LoaderRequest) {
        url = request.url
        options = request.options
        validators = request.validators
    }
}

/// Tells transfers apart, across threads.
typealias TransferNumber = UInt64

/// One transfer, for all who ask for it: a request, or several when there are redirects. Lives on the network thread.
final class CurlTransfer {
    /// What comes after a request.
    enum Outcome {
        case end(Result<LoaderResult, ImageError>)
        /// Another request: to where the last one was redirected, or for the whole after all.
        case again
    }

    let key: TransferKey
    let number: TransferNumber
    let configuration: ImageDownloader.Configuration
    private let observers: TransferObservers
    private(set) var operations: [CurlFetchOperation] = []
    private let queuedAt = ContinuousClock.now
    var priority = ImagePriority.normal
    /// In the queue of those that wait.
    var queueNumber: UInt64?
    /// What is at hand from an earlier transfer.
    var resumed: PartialBody?

    // Of the request that is under way.
    private(set) var request: RequestModifier.Request
    var proxy = ProxyChoice.environment
    private(set) var easy: UnsafeMutableRawPointer?
    var headerList: UnsafeMutablePointer<curl_slist>?
    let message = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var headers = ResponseHeaders()
    private var response: ResponseModifier.Response?
    private var requestTime = Date()
    private var startedAt = ContinuousClock.now
    private var firstByteAt = ContinuousClock.now
    private(set) var body: TransferBody
    private var received: Int64 = 0
    private var expected: Int64?
    private var reported: Int64 = 0
    private var isNearlyComplete = false
    /// Why the transfer was stopped from within.
    private var failure: ImageError?
    private var needsWhole = false
    /// Bytes of an error page that were read and thrown away, to keep the connection.
    private var discarded = 0
    private(set) var redirectCount = 0
    private(set) var metrics = TransferMetrics()

    private static let discardLimit = 64 << 10

    init(
        _ key: TransferKey,
        _ number: TransferNumber,
        _ configuration: ImageDownloader.Configuration,
        _ observers: TransferObservers
    ) {
        self.key = key
        self.number = number
        self.configuration = configuration
        self.observers = observers
        request = RequestModifier.Request(url: key.url)
        body = TransferBody(inMemoryBodyLimit: configuration.inMemoryBodyLimit)
        message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_slist_free_all(headerList)
        message.deallocate()
    }

    var url: URL { key.url }
    /// Whether the last response was a redirect (RFC 9110, 15.4).
    var isRedirected: Bool { [301, 302, 303, 307, 308].contains(headers.status) && headers["location"] != nil }
    var httpStatus: Int? { headers.status == 0 ? nil : headers.status }
    var decryptor: Decryptor? { key.options.decryptor ?? configuration.decryptor }
    var head: ResponseModifier.Response {
        response ?? ResponseModifier.Response(url: request.url, status: headers.status, headers: headers.fields)
    }

    func join(_ operation: CurlFetchOperation) {
        operations.append(operation)
        operation.setWorthFinishing(isNearlyComplete)
        if operation.wantsData { replay(to: operation) }
    }

    func leave(_ operation: CurlFetchOperation) {
        operations.removeAll { $0 === operation }
    }

    /// Hands over what has come so far to one who asked late.
    func replay(to operation: CurlFetchOperation) {
        if body.count > 0, decryptor == nil { operation.send(.data(body.data)) }
    }

    func attach(_ easy: UnsafeMutableRawPointer) { self.easy = easy }
    func takeHandle() -> UnsafeMutableRawPointer? { easy.take() }
}

// From the request to the end.
extension CurlTransfer {
    /// Decides on what is sent, and forgets the last response.
    /// - Throws: Why nothing can be sent.
    func prepare(for url: URL) throws(ImageError) {
        let isSameOrigin = url.isSameOrigin(as: key.url)
        guard let request = configuration.request(url, options: key.options, isSameOrigin: isSameOrigin) else {
            throw error(.invalidRequest, "The request modifier made no request", remedy: "See why it returned nil.")
        }
        self.request = request
        headers = ResponseHeaders()
        response = nil
        discarded = 0
        requestTime = Date()
        startedAt = .now
        if redirectCount == 0, !needsWhole {
            metrics.waiting = startedAt - queuedAt
            observers.tell(.started(key.url))
        }
        needsWhole = false
    }

    func receive(headerLine line: UnsafeRawBufferPointer) {
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") { response = nil }
        headers.add(line: text)
    }

    /// - Returns: Whether to go on.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if response == nil { beginBody() }
        guard !needsWhole else { return false }
        if failure != nil || isRedirected {
            discarded += bytes.count
            return discarded <= Self.discardLimit
        }
        guard body.count + bytes.count <= configuration.maximumByteCount else {
            failure = tooLarge
            return false
        }
        body.append(bytes)
        received += Int64(bytes.count)
        reportProgress()
        estimate()
        send(bytes)
        return true
    }

    /// What libcurl says at the end, in the terms of the library.
    func conclude(_ code: CURLcode) -> Outcome {
        measure()
        // A response without a body, and not one that went wrong before its head was there.
        if code == CURLE_OK, response == nil { beginBody() }
        if needsWhole {
            resumed = nil
            return restart(request.url)
        }
        if let failure { return .end(.failure(failure)) }
        // Also when it was broken off here, because its body was more than is read to keep the connection.
        if isRedirected, code == CURLE_OK || discarded > Self.discardLimit { return follow(redirectTarget) }
        guard code == CURLE_OK else {
            return .end(.failure(CurlFailure.error(code, message: String(cString: message), self)))
        }
        let head = head
        let metadata = head.metadata(request, requestTime: requestTime, responseTime: Date())
        if head.status == 304 {
            metrics.cacheDecision = .notModified
            return .end(.success(LoaderResult(data: Data(), metadata: metadata, isNotModified: true, metrics: metrics)))
        }
        if key.validators != nil { metrics.cacheDecision = .replaced }
        return .end(.success(LoaderResult(data: body.data, metadata: metadata, metrics: metrics)))
    }

    /// What may be continued later, if anything: what has come, or what was to be continued when nothing has.
    var partial: PartialBody? {
        if response == nil, body.count == 0 { return resumed }
        guard body.count > 0, failure == nil, key.validators == nil, let response, request.method == "GET",
            response.headers["content-encoding"] == nil, response.headers["accept-ranges"]?.lowercased() != "none"
        else { return nil }
        let validators = ResponseMetadata.Validators(
            etag: response.headers["etag"],
            lastModified: response.headers["last-modified"]
        )
        return PartialBody(data: body.data, validators: validators)
    }

    private var redirectTarget: URL? {
        guard let easy else { return nil }
        var text: UnsafePointer<CChar>?
        gwi_curl_get_string(easy, CURLINFO_REDIRECT_URL, &text)
        if let text { return URL(string: String(cString: text)) }
        // libcurl has none for a transfer that did not run to its end.
        return headers["location"].flatMap { URL(string: $0, relativeTo: request.url)?.absoluteURL }
    }

    private func follow(_ target: URL?) -> Outcome {
        redirectCount += 1
        metrics.redirectCount = redirectCount
        guard let target, target.host()?.isEmpty == false || target.scheme?.hasPrefix("http") == false else {
            return .end(.failure(badRedirect("to something that is no URL")))
        }
        let isAllowed = ["http", "https"].contains(target.scheme?.lowercased() ?? "")
        guard isAllowed, redirectCount <= configuration.maximumRedirects else {
            let reason =
                isAllowed ? "more than \(configuration.maximumRedirects) in a row" : "to \(target.scheme ?? "nothing"):"
            return .end(.failure(badRedirect(reason)))
        }
        return restart(target)
    }

    private func restart(_ url: URL) -> Outcome {
        do {
            try prepare(for: url)
            return .again
        } catch {
            return .end(.failure(error))
        }
    }
}

// The head of a response, once it is the last one.
extension CurlTransfer {
    private func beginBody() {
        var head = ResponseModifier.Response(url: request.url, status: headers.status, headers: headers.fields)
        response = head
        guard !isRedirected else { return }
        firstByteAt = .now
        observers.tell(.responded(key.url, head))
        if let modifier = key.options.responseModifier ?? configuration.responseModifier {
            guard let changed = modifier.modify(head) else {
                failure = error(.badResponse, "The response modifier refused the response", remedy: "See why.")
                return
            }
            head = changed
            response = head
        }
        if head.status == 416, resumed != nil {
            needsWhole = true
        } else if head.status == 206, resumed != nil {
            resume(head)
        } else {
            failure = refusal(head)
            expected = head.bodyLength
        }
        if failure == nil, let expected {
            if expected > Int64(configuration.maximumByteCount) { failure = tooLarge } else { body.reserve(expected) }
        }
    }

    /// Goes on where the last transfer ended, if this is its rest (RFC 9110, 15.3.7).
    private func resume(_ head: ResponseModifier.Response) {
        guard let resumed, let range = head.contentRange, range.start == resumed.data.count,
            head.headers["etag"] == nil || head.headers["etag"] == resumed.validators.etag
        else {
            needsWhole = true
            return
        }
        metrics.cacheDecision = .resumed(range.start)
        expected = range.total
        resumed.data.withUnsafeBytes {
            body.append($0)
            send($0)
        }
    }

    private func refusal(_ head: ResponseModifier.Response) -> ImageError? {
        if head.status == 304, key.validators != nil { return nil }
        guard configuration.acceptedStatusCodes.contains(head.status) else { return statusError(head) }
        if head.status == 206, !request.headers.keys.contains(where: { $0.lowercased() == "range" }) {
            return error(.badResponse, "The server sent a part of the image, and was asked for the whole")
        }
        guard let accepted = configuration.acceptedContentTypes, let type = head.headers["content-type"] else {
            return nil
        }
        let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        let family = String(name.prefix { $0 != "/" }) + "/*"
        guard !accepted.contains(name), !accepted.contains(family) else { return nil }
        return error(
            .badContentType,
            "The server sent \(name)",
            remedy: "Correct the URL, or add the type to acceptedContentTypes in the downloader's configuration."
        )
    }
}

// What the callers hear.
extension CurlTransfer {
    private func send(_ bytes: UnsafeRawBufferPointer) {
        guard decryptor == nil, bytes.count > 0 else { return }
        var chunk: Data?
        for operation in operations where operation.wantsData {
            let data = chunk ?? Data(bytes)
            chunk = data
            operation.send(.data(data))
        }
    }

    private func reportProgress() {
        let count = Int64(body.count)
        if let expected, count < expected {
            let step = Double(expected) * min(max(configuration.minimumProgressFraction, 0), 1)
            guard Double(count - reported) >= step else { return }
        }
        reported = count
        for operation in operations { operation.send(.progress(received: count, expected: expected)) }
    }

    /// Tells the callers when the rest will be here sooner than a new request would bring anything.
    private func estimate() {
        guard let expected, received > 0 else { return }
        let now = ContinuousClock.now
        let perByte = (now - firstByteAt) / Double(received)
        let rest = perByte * Double(max(0, expected - Int64(body.count)))
        let isWorth = rest < firstByteAt - startedAt
        guard isWorth != isNearlyComplete else { return }
        isNearlyComplete = isWorth
        for operation in operations { operation.setWorthFinishing(isWorth) }
    }

    private func measure() {
        guard let easy else { return }
        let decision = metrics.cacheDecision
        metrics.measure(easy)
        metrics.cacheDecision = decision
    }
}
