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
/// The order is ``begin()``, then `configure` (CurlTransfer+Setup), ``receive(_:)`` for each chunk of the body,
/// and ``conclude(_:)``, which may ask for the next exchange.
final class CurlTransfer {
    /// What follows an exchange.
    enum Outcome {
        case finished(Result<LoaderResult, ImageError>)
        /// Another exchange is prepared: with the target of a redirect, with what the app has answered, or for the whole body
        /// after a failed resume.
        case nextExchange
        /// The app has to answer before there is another exchange.
        case question(AppQuestion)

        static func failed(_ error: ImageError) -> Outcome { .finished(.failure(error)) }
    }

    /// What the transfer waits for.
    enum Phase {
        /// A place, in the queue of its host, where it has a number.
        case queued(number: UInt64)
        /// The network.
        case running
        /// An answer of the app. It has no place, so that nothing waits for the app.
        case asking(Asking)
        case ended
    }

    /// A question that is put to the app.
    struct Asking {
        let question: AppQuestion
        /// Tells the answer from that of an earlier question of the transfer.
        let number: UInt64
        /// When the transfer waits no longer; `nil` when it waits for a user, without a time limit of the load.
        let deadline: ContinuousClock.Instant?
        /// Runs the closure of the app.
        let task: Task<Void, Never>
    }

    let key: TransferKey
    let number: TransferNumber
    /// That of the downloader when the transfer leaves the queue.
    var configuration: ImageDownloader.Configuration
    private(set) var operations: [CurlFetchOperation] = []
    var phase = Phase.queued(number: 0)
    private let createdAt = ContinuousClock.now
    private var queuedAt = ContinuousClock.now
    /// The time in the queue so far; `nil` while the transfer waits there for the first time.
    private var waitingTime: Duration?
    /// Whether the rate limit counts the transfer.
    var hasToken = false
    var priority = ImagePriority.normal
    /// The host whose limit the transfer counts against.
    var host: String
    /// The bytes at a time from which on the speed is measured; `nil` while no other host waits.
    var pace: (since: ContinuousClock.Instant, byteCount: Int64)?
    /// The body of an earlier, interrupted transfer, which this one resumes.
    var resumed: PartialBody?
    /// The bytes of all heads and bodies so far, as they arrived.
    var receivedByteCount: Int64 = 0
    var redirectCount = 0
    /// Where redirects have led so far.
    var redirectTargets: [URL] = []
    /// What they have said about caching, and the request that the first of them has answered.
    var redirects: (request: RequestModifier.Request, responses: [(status: Int, metadata: ResponseMetadata)])?
    /// The exchange that is being prepared.
    var step: Step
    /// Whether the modifier was asked for another request after a status 401.
    var hasAskedModifierAgain = false
    /// The credentials of the app for the servers and proxies that have demanded one.
    var answers: [Party: Answer] = [:]
    /// The exchange that is under way. It has only the URL until the first one starts.
    var exchange: Exchange

    init(
        _ key: TransferKey,
        number: TransferNumber,
        age: UInt64,
        configuration: ImageDownloader.Configuration
    ) {
        self.key = key
        self.number = number
        self.age = age
        self.configuration = configuration
        step = Step(target: key.url)
        exchange = Exchange(
            RequestModifier.Request(url: key.url),
            step,
            body: TransferBody(inMemoryBodyLimit: configuration.inMemoryBodyLimit, budget: nil)
        )
        host = exchange.host
    }

    var url: URL { key.url }
    /// The number of the transfer in the queue of its host.
    var queueNumber: UInt64? { if case .queued(let number) = phase { number } else { nil } }
    /// The time since the transfer was made, without that in the queue.
    var spentTime: Duration { ContinuousClock.now - createdAt - (waitingTime ?? .zero) }
    /// The memory for the body, that of the load which asked first.
    var budget: MemoryBudget? { operations.first?.request.budget }
    /// The age of the load that asked first.
    let age: UInt64
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

    /// Takes note that the transfer waits again.
    func noteRequeued() { queuedAt = .now }

    /// Takes note that the transfer waits no longer.
    /// - Returns: Whether an exchange was prepared before it waited.
    func noteDequeued() -> Bool {
        defer { waitingTime = (waitingTime ?? .zero) + (ContinuousClock.now - queuedAt) }
        return waitingTime != nil
    }

    /// Prepares the same exchange for another connection.
    func repeatExchange() {
        let old = exchange
        replaceExchange(old.request, Step(target: old.target, requiresTLS: old.requiresTLS))
        exchange.proxy = old.proxy
        exchange.isOnFreshConnection = true
    }

    func replaceExchange(_ request: RequestModifier.Request, _ step: Step) {
        let body = TransferBody(inMemoryBodyLimit: configuration.inMemoryBodyLimit, budget: budget)
        exchange = Exchange(request, step, body: body)
    }

    func takeHandle() -> CurlHandle? { exchange.handle.take() }
}

// One exchange from its request to its end.
extension CurlTransfer {
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
        case .redirected, .refused, .failed:
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
                case .tooDense: exchange.verdict = .failed(denseCoding)
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
        guard !exchange.wouldExceedRange(by: bytes.count) else {
            exchange.verdict = .failed(longerThanRange)
            return false
        }
        exchange.body.append(bytes)
        exchange.receivedCount += Int64(bytes.count)
        if !exchange.isLookedAt, exchange.body.count >= ImageFormat.longestSniffLength {
            exchange.isLookedAt = true
            if let error = refusalOfBody {
                exchange.verdict = .failed(error)
                return false
            }
        }
        reportProgress()
        estimateCompletion()
        stream(bytes)
        return true
    }

    /// The error of a body that none of the loads can use, whatever follows its first bytes; it may be a stream without an end.
    private var refusalOfBody: ImageError? {
        // A status 202 says that the image comes later.
        guard decryptor == nil, exchange.head?.status != 202 else { return nil }
        let head = exchange.body.data.prefix(ImageFormat.longestSniffLength)
        let refusals = operations.map { $0.request.refusal?(Data(head)) }
        return refusals.contains { $0 == nil } ? nil : refusals.first ?? nil
    }

    /// Turns libcurl's result into the outcome of the exchange.
    func conclude(_ code: CURLcode) -> Outcome {
        // A server that went away in the middle of the head has said nothing yet.
        if code == CURLE_OK, !exchange.hasWholeHead { return .finished(.failure(headIncomplete)) }
        // A successful response without a body has not been looked at yet.
        if code == CURLE_OK, exchange.head == nil { receiveHead() }
        if code != CURLE_OK { receiveRefusalOfProxy() }
        switch exchange.verdict {
        case .resumeRefused:
            return requestWhole()
        case .refused(let error):
            return recover(from: error)
        case .failed(let error):
            return .failed(error)
        case .redirected where code == CURLE_OK || exchange.hasDiscardedTooMuch:
            return followRedirect()
        case .accepted where code == CURLE_OK && exchange.decoder?.isComplete == false:
            return .failed(codingIncomplete)
        case .accepted where code == CURLE_OK && exchange.isShorterThanRange:
            return .failed(error(CURLE_PARTIAL_FILE, message: ""))
        case .accepted where code == CURLE_OK:
            return .finished(.success(loaderResult()))
        case .redirected, .accepted:
            guard !wasRefusedWithoutTLS(code) else { return .finished(.failure(insecureRedirect)) }
            return .failed(error(code, message: exchange.handle?.errorMessage ?? ""))
        }
    }

    /// The metadata of a response, with what the redirects have said that have led to it.
    func metadata(of head: ResponseHead) -> ResponseMetadata {
        // The next request is compared with the one before the first redirect.
        let request = redirects?.request ?? wholeRequest
        let now = Date()
        var metadata = head.metadata(request, requestTime: exchange.requestTime, responseTime: now)
        metadata.redirects = redirects.map { redirects in
            let target = exchange.target
            return .init(redirects.responses, to: target, unsigned: target.withoutSignature, at: now)
        }
        return metadata
    }

    /// Whether only the end of the connection, which may have been broken, ends the body (HTTP/1; RFC 9112, section 6.3).
    private func endsWithConnection(_ head: ResponseHead) -> Bool {
        let version = exchange.handle?.long(CURLINFO_HTTP_VERSION) ?? 0
        return version <= Int(CURL_HTTP_VERSION_1_1) && exchange.decoder == nil
            && head.headers["content-length"] == nil && head.headers["transfer-encoding"] == nil
    }

    private func loaderResult() -> LoaderResult {
        let head = exchange.head ?? exchange.readHead()
        var metadata = metadata(of: head)
        var metrics = TransferMetrics()
        if let handle = exchange.handle { metrics.measure(handle) }
        metrics.waiting = waitingTime ?? .zero
        metrics.redirectCount = redirectCount
        if head.status == 304 {
            metrics.cacheDecision = .notModified
            return LoaderResult(data: Data(), metadata: metadata, head: head, isNotModified: true, metrics: metrics)
        }
        if key.validators != nil {
            metrics.cacheDecision = .replaced
        } else if let start = exchange.resumedCount {
            metrics.cacheDecision = .resumed(start)
            // A response to If-Range leaves out what the one before has said (RFC 9110, 15.3.7).
            if let part = exchange.part { metadata = part.version.metadata.renewed(by: metadata) }
        }
        var result = LoaderResult(data: exchange.body.data, metadata: metadata, head: head, metrics: metrics)
        result.isInFile = exchange.body.isInFile
        result.endsWithConnection = endsWithConnection(head)
        result.isRange = head.status == 206 && exchange.resumedCount == nil
        return result
    }
}

// Reports to the operations.
extension CurlTransfer {
    func stream(_ bytes: UnsafeRawBufferPointer) {
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
