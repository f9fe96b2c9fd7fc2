internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// The key of a transfer. Requests with equal keys share one.
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

/// A number that identifies a transfer across threads.
typealias TransferNumber = UInt64

/// One transfer for all operations that want it: an HTTP exchange, or several when the server redirects. It is used on
/// the network thread.
///
/// The order is ``prepare(for:)``, then `configure` (CurlTransfer+Setup), ``receive(_:)`` for each chunk of the body,
/// and ``conclude(_:)``, which may ask for the next exchange.
final class CurlTransfer {
    /// What follows an exchange.
    enum Outcome {
        case finished(Result<LoaderResult, ImageError>)
        /// Another exchange is prepared: with the target of a redirect, or for the whole body after a failed resume.
        case nextExchange
    }

    let key: TransferKey
    let number: TransferNumber
    let configuration: ImageDownloader.Configuration
    private let observers: Observers<ImageDownloader.Event>
    private(set) var operations: [CurlFetchOperation] = []
    private let createdAt = ContinuousClock.now
    /// The time in the queue so far; `nil` while the transfer waits there for the first time.
    private var waitingTime: Duration?
    /// The time at which the transfer was queued once more, for the host that a redirect leads to.
    private var requeuedAt: ContinuousClock.Instant?
    var priority = ImagePriority.normal
    /// The number of the transfer in the queue of its host; `nil` once it has left the queue.
    var queueNumber: UInt64?
    /// The host whose limit the transfer counts against.
    var host: String
    /// The bytes at a time from which on the speed is measured; `nil` while no other host waits.
    var pace: (since: ContinuousClock.Instant, byteCount: Int64)?
    /// The body of an earlier, interrupted transfer, which this one resumes.
    var resumed: PartialBody?
    /// The bytes of all heads and bodies so far, as they arrived.
    var receivedByteCount: Int64 = 0
    private var redirectCount = 0
    /// Where redirects have led so far.
    private(set) var redirectTargets: [URL] = []
    /// The exchange that is under way. It has only the URL until the first one starts.
    private(set) var exchange: Exchange

    init(
        _ key: TransferKey,
        number: TransferNumber,
        configuration: ImageDownloader.Configuration,
        observers: Observers<ImageDownloader.Event>
    ) {
        self.key = key
        self.number = number
        self.configuration = configuration
        self.observers = observers
        exchange = Exchange(
            RequestModifier.Request(url: key.url),
            inMemoryBodyLimit: configuration.inMemoryBodyLimit,
            budget: nil
        )
        host = exchange.host
    }

    var url: URL { key.url }
    /// Whether a request has been made. A transfer without a host, or whose request is refused, ends before.
    var hasStarted: Bool { waitingTime != nil }
    /// What is left of the time limit for the whole transfer, redirects included, without the time in the queue; `nil` when
    /// there is no limit.
    var remainingTime: Duration? {
        guard let limit = key.options.totalTimeout ?? configuration.totalTimeout else { return nil }
        return limit - (ContinuousClock.now - createdAt - (waitingTime ?? .zero))
    }
    /// The memory for the body, that of the load which asked first.
    var budget: MemoryBudget? { operations.first?.request.budget }
    var decryptor: Decryptor? { key.options.decryptor ?? configuration.decryptor }

    func join(_ operation: CurlFetchOperation) {
        operations.append(operation)
        operation.setNearlyComplete(exchange.isNearlyComplete)
        if operation.wantsData { replay(to: operation) }
    }

    func leave(_ operation: CurlFetchOperation) {
        operations.removeAll { $0 === operation }
    }

    /// Sends the bytes that have arrived so far to an operation that started to stream late.
    func replay(to operation: CurlFetchOperation) {
        if exchange.body.count > 0, decryptor == nil { operation.send(.data(exchange.body.data)) }
    }

    /// Takes note that the socket was active although nothing has arrived.
    func noteSocketActivity(at time: ContinuousClock.Instant) { exchange.socketActivity = time }

    /// Takes note that the transfer waits again.
    func noteRequeued() { requeuedAt = .now }

    /// Takes note that the transfer waits no longer.
    func noteDequeued() {
        guard let since = requeuedAt.take() else { return }
        waitingTime = (waitingTime ?? .zero) + (ContinuousClock.now - since)
    }

    func useProxy(_ choice: ProxyChoice) { exchange.proxy = choice }

    func useAlternative(_ service: AlternativeService?) { exchange.alternative = service }

    /// Prepares the same exchange for another endpoint or another connection.
    func repeatExchange(onFreshConnection: Bool = false) {
        let old = exchange
        exchange = makeExchange(exchange.request)
        (exchange.proxy, exchange.requiresTLS) = (old.proxy, old.requiresTLS)
        exchange.isOnFreshConnection = old.isOnFreshConnection || onFreshConnection
    }

    private func makeExchange(_ request: RequestModifier.Request) -> Exchange {
        Exchange(request, inMemoryBodyLimit: configuration.inMemoryBodyLimit, budget: budget)
    }

    func leaveDecodingToCurl() { exchange.isDecodedByCurl = true }

    func attach(_ handle: CurlHandle) {
        exchange.handle = handle
        exchange.launchedAt = .now
    }

    /// Takes note that the name server has answered, also that there is no such host.
    func noteEndOfLookup() { exchange.hasEndedLookup = true }

    func takeHandle() -> CurlHandle? { exchange.handle.take() }
}

// One exchange from its request to its end.
extension CurlTransfer {
    /// Replaces the exchange by a new one.
    /// - Throws: `invalidRequest` when the request modifier refuses the request, and `invalidURL` without a host, for which
    ///   libcurl takes the first component of the path.
    func prepare(for url: URL) throws(ImageError) {
        let isSameOrigin = url.isSameOrigin(as: key.url)
        guard let request = configuration.request(url, options: key.options, isSameOrigin: isSameOrigin) else {
            throw error(
                .invalidRequest,
                "The request modifier refused the request",
                remedy: "Return a request from the modifier if this URL may be loaded."
            )
        }
        guard request.method.isHTTPToken else {
            throw error(
                .invalidRequest,
                "The request modifier has set a method that HTTP does not allow",
                remedy: "Set a method such as GET or POST, of letters, digits and hyphens."
            )
        }
        guard request.url.host()?.isEmpty == false else {
            throw error(
                .invalidURL,
                "The URL has no host",
                remedy: "Write the host after http:// or https://, as in https://example.org/image.png."
            )
        }
        exchange = makeExchange(request)
        if waitingTime == nil {
            waitingTime = exchange.startedAt - createdAt
            observers.notify(.started(key.url))
        }
    }

    private func noteArrival(_ byteCount: Int) {
        exchange.lastArrival = .now
        receivedByteCount = receivedByteCount.boundedSum(Int64(byteCount))
    }

    /// Takes note of a line of a head or of the trailers.
    /// - Returns: Whether the exchange continues.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        noteArrival(line.count)
        exchange.noteHeaderLine(line)
        exchange.headByteCount += line.count
        exchange.headLineCount += 1
        guard exchange.headByteCount > Exchange.headLimit || exchange.headLineCount > Exchange.headLineLimit else {
            return true
        }
        exchange.verdict = .failed(headTooLarge)
        return false
    }

    /// Takes the next bytes of the body.
    /// - Returns: Whether the exchange continues.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        noteArrival(bytes.count)
        if exchange.head == nil { receiveHead() }
        switch exchange.verdict {
        case .resumeRefused:
            return false
        case .redirected, .failed:
            // Reading a short error page to its end keeps the connection open for the next request.
            exchange.discardedCount += bytes.count
            return !exchange.hasDiscardedTooMuch
        case .accepted:
            guard let decoder = exchange.decoder else { return keep(bytes) }
            do {
                return try decoder.decode(bytes) { keep($0) }
            } catch {
                switch error {
                case .damaged: exchange.verdict = .failed(badCoding)
                case .tooLarge: exchange.verdict = .failed(bodyTooLarge)
                }
                return false
            }
        }
    }

    /// Keeps bytes of the image.
    private func keep(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard exchange.body.count + bytes.count <= configuration.maximumByteCount else {
            exchange.verdict = .failed(bodyTooLarge)
            return false
        }
        exchange.body.append(bytes)
        exchange.receivedCount += Int64(bytes.count)
        reportProgress()
        estimateCompletion()
        stream(bytes)
        return true
    }

    /// Turns libcurl's result into the outcome of the exchange.
    func conclude(_ code: CURLcode) -> Outcome {
        // A server that went away in the middle of the head has said nothing yet.
        if code == CURLE_OK, !exchange.hasWholeHead { return .finished(.failure(headIncomplete)) }
        // A successful response without a body has not been looked at yet.
        if code == CURLE_OK, exchange.head == nil { receiveHead() }
        switch exchange.verdict {
        case .resumeRefused:
            resumed = nil
            let requiresTLS = exchange.requiresTLS
            let outcome = startNext(exchange.request.url)
            exchange.requiresTLS = requiresTLS
            return outcome
        case .failed(let error):
            return .finished(.failure(error))
        case .redirected where code == CURLE_OK || exchange.hasDiscardedTooMuch:
            return follow(redirectTarget)
        case .accepted where code == CURLE_OK && exchange.decoder?.isComplete == false:
            return .finished(.failure(codingIncomplete))
        case .accepted where code == CURLE_OK && exchange.hasOtherLength:
            return .finished(.failure(otherLength))
        case .accepted where code == CURLE_OK:
            return .finished(.success(loaderResult()))
        case .redirected, .accepted:
            guard !wasRefusedWithoutTLS(code) else { return .finished(.failure(insecureRedirect)) }
            return .finished(.failure(error(code, message: exchange.handle?.errorMessage ?? "")))
        }
    }

    /// The part of the body that a later transfer may resume: what has arrived, or what this transfer was about to
    /// resume when nothing has arrived.
    var partialBody: PartialBody? {
        guard let head = exchange.head else { return resumed }
        guard exchange.body.count > 0, exchange.expectedCount.map({ exchange.body.count <= $0 }) ?? true,
            case .accepted = exchange.verdict, key.validators == nil,
            exchange.request.method == "GET", exchange.decoder == nil, head.headers["content-encoding"] == nil,
            head.headers["accept-ranges"]?.lowercased() != "none"
        else { return nil }
        let validators = ResponseMetadata.Validators(
            etag: head.headers["etag"],
            lastModified: head.headers["last-modified"]
        )
        let sent = head.headers["date"].flatMap(ResponseModifier.Response.date) ?? exchange.requestTime
        let changed = head.headers["last-modified"].flatMap(ResponseModifier.Response.date)
        return PartialBody(
            data: exchange.body.data,
            validators: validators,
            hasStrongDate: changed.map { sent.timeIntervalSince($0) >= 60 } ?? false,
            totalCount: exchange.expectedCount
        )
    }

    private func loaderResult() -> LoaderResult {
        let head = exchange.head ?? exchange.readHead()
        let metadata = head.metadata(exchange.request, requestTime: exchange.requestTime, responseTime: Date())
        var metrics = TransferMetrics()
        if let handle = exchange.handle { metrics.measure(handle) }
        metrics.waiting = waitingTime ?? .zero
        metrics.redirectCount = redirectCount
        if head.status == 304 {
            metrics.cacheDecision = .notModified
            return LoaderResult(data: Data(), metadata: metadata, isNotModified: true, metrics: metrics)
        }
        if key.validators != nil {
            metrics.cacheDecision = .replaced
        } else if let start = exchange.resumedCount {
            metrics.cacheDecision = .resumed(start)
        }
        return LoaderResult(data: exchange.body.data, metadata: metadata, metrics: metrics)
    }

    private var redirectTarget: URL? {
        if let text = exchange.handle?.redirectURL { return URL(string: text) }
        // libcurl knows no target when the exchange was stopped before its end.
        let location = exchange.head?.headers["location"]
        return location.flatMap { URL(string: $0, relativeTo: exchange.request.url)?.absoluteURL }
    }

    private func follow(_ target: URL?) -> Outcome {
        redirectCount += 1
        guard let target, target.host()?.isEmpty == false || target.scheme?.hasPrefix("http") == false else {
            return .finished(.failure(badRedirect("its target is not a URL")))
        }
        guard ["http", "https"].contains(target.scheme?.lowercased() ?? "") else {
            return .finished(.failure(badRedirect("its target has the scheme \(target.scheme ?? "")")))
        }
        guard redirectCount <= configuration.maximumRedirects else {
            let reason = "it is one more than the limit of \(configuration.maximumRedirects)"
            return .finished(.failure(badRedirect(reason)))
        }
        if let refusal = askOperations(about: target) { return .finished(.failure(refusal)) }
        let requiresTLS = exchange.isSecure && !configuration.allowsInsecureRedirects
        let outcome = startNext(target)
        exchange.requiresTLS = requiresTLS
        return outcome
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

    private func startNext(_ url: URL) -> Outcome {
        do {
            try prepare(for: url)
            return .nextExchange
        } catch {
            return .finished(.failure(error))
        }
    }
}

// The head of the response.
extension CurlTransfer {
    /// Reads the head and decides what to do with the body.
    private func receiveHead() {
        var head = exchange.readHead()
        exchange.head = head
        // RFC 9110, 15.4.
        if [301, 302, 303, 307, 308].contains(head.status), head.headers["location"] != nil {
            exchange.verdict = .redirected
            return
        }
        exchange.firstByteAt = .now
        let coding = exchange.isDecodedByCurl ? nil : head.headers["content-encoding"]
        observers.notify(.responded(key.url, head))
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
        switch (head.status, resumed) {
        case (416, .some): exchange.verdict = .resumeRefused
        // The part that is there is not encoded.
        case (206, .some) where coding.map(ContentDecoder.isCoded) == true: exchange.verdict = .resumeRefused
        case (206, .some(let part)): resume(part, head)
        default:
            exchange.expectedCount = head.bodyLength
            if let error = refusal(of: head) { exchange.verdict = .failed(error) }
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

    /// Continues an interrupted body if the response is its rest (RFC 9110, 15.3.7).
    private func resume(_ part: PartialBody, _ head: ResponseModifier.Response) {
        // A server that ignores If-Range may send the rest of another version.
        let (etag, date) = (head.headers["etag"], head.headers["last-modified"])
        let hasSameTag = etag != nil && etag == part.validators.etag
        guard let range = head.restOfBody, range.start == part.data.count,
            part.totalCount.map({ $0 == range.total }) ?? hasSameTag,
            hasSameTag || etag == nil && (date == nil || date == part.validators.lastModified)
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

    private func refusal(of head: ResponseModifier.Response) -> ImageError? {
        if head.status == 304, key.validators != nil { return nil }
        guard configuration.acceptedStatusCodes.contains(head.status) else { return badStatus(head) }
        if head.status == 206, !exchange.request.headers.keys.contains(where: { $0.lowercased() == "range" }) {
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

// Reports to the operations.
extension CurlTransfer {
    private func stream(_ bytes: UnsafeRawBufferPointer) {
        guard decryptor == nil, bytes.count > 0 else { return }
        var chunk: Data?
        for operation in operations where operation.wantsData {
            let data = chunk ?? Data(bytes)
            chunk = data
            operation.send(.data(data))
        }
    }

    private func reportProgress() {
        let (count, expected) = (Int64(exchange.body.count), exchange.expectedCount)
        if let expected, count < expected {
            let step = Double(expected) * configuration.minimumProgressFraction.bounded(to: 0...1, ifNaN: 0)
            guard Double(count - exchange.reportedCount) >= step else { return }
        }
        exchange.reportedCount = count
        for operation in operations { operation.send(.progress(received: count, expected: expected)) }
    }

    /// Tells the operations when the rest will arrive sooner than a new request would bring its first byte.
    private func estimateCompletion() {
        guard let expected = exchange.expectedCount, exchange.receivedCount > 0 else { return }
        let seconds = (ContinuousClock.now - exchange.firstByteAt) / .seconds(1)
        let rest = seconds / Double(exchange.receivedCount) * Double(max(0, expected - Int64(exchange.body.count)))
        let isNearlyComplete = rest < (exchange.firstByteAt - exchange.startedAt) / .seconds(1)
        guard isNearlyComplete != exchange.isNearlyComplete else { return }
        exchange.isNearlyComplete = isNearlyComplete
        for operation in operations { operation.setNearlyComplete(isNearlyComplete) }
    }
}
