import FoundationEssentials
import WebImageCore

/// The key of a transfer. Requests with equal keys share a transfer.
struct TransferKey: Hashable {
    let url: URL
    let options: NetworkOptions
    let validators: ResponseMetadata.Validators?
    let defaultHeaders: [String: String]
    let connectsOnly: Bool

    init(_ request: LoaderRequest) {
        url = request.url
        options = request.options
        validators = request.validators
        defaultHeaders = request.defaultHeaders
        connectsOnly = request.connectsOnly
    }

    // Save-Data does not count: a transfer goes on, and can be resumed, when the network becomes metered.
    static func == (left: TransferKey, right: TransferKey) -> Bool {
        left.url == right.url && left.options == right.options && left.validators == right.validators
            && left.defaultHeaders["Accept"] == right.defaultHeaders["Accept"]
            && left.connectsOnly == right.connectsOnly
    }

    func hash(into hasher: inout Hasher) { hasher.combine(url) }
}

/// A number that identifies a transfer across threads.
typealias TransferNumber = UInt64

/// One transfer for all operations that want it: an HTTP exchange, or several if the server redirects. Only the network
/// thread uses it.
///
/// ``begin(_:resuming:)`` prepares the first ``Exchange``, which receives the response and may have the transfer prepare the next.
final class CurlTransfer {
    /// What follows an exchange.
    enum Outcome {
        case finished(Result<LoaderResult, ImageError>)
        /// Another exchange is prepared: for the target of a redirect, with an answer of the app, or for the whole body
        /// after a failed resume.
        case nextExchange
        /// The app must answer before there is another exchange.
        case question(AppQuestion)

        static func failed(_ error: ImageError) -> Outcome { .finished(.failure(error)) }
    }

    /// The progress of the transfer.
    enum Phase {
        /// The transfer waits for a place, under a number in the queue of its server.
        case queued(number: UInt64, since: ContinuousClock.Instant)
        case running
        /// The transfer waits for an answer of the app, whose closure the task runs. It occupies no place, so that other
        /// transfers do not wait for the app.
        case asking(AppQuestion, Task<Void, Never>)
    }

    let key: TransferKey
    let number: TransferNumber
    /// The age of the load that requested the transfer first.
    let age: UInt64
    var operations: [CurlFetchOperation]
    var priority: ImagePriority
    var phase = Phase.queued(number: 0, since: .now)
    /// The server whose limit the transfer counts against.
    var origin: Origin
    /// Whether the rate limit counts the transfer.
    var hasToken = false
    let createdAt = ContinuousClock.now
    /// The time in the queue so far.
    var waitingTime = Duration.zero
    /// The current exchange; `nil` until the transfer leaves the queue for the first time.
    var exchange: Exchange!

    init(_ key: TransferKey, number: TransferNumber, for operation: CurlFetchOperation) {
        (self.key, self.number, age) = (key, number, operation.request.age)
        (operations, priority) = ([operation], operation.priority)
        origin = key.url.origin
    }

    var url: URL { key.url }
    /// The memory budget of the load that requested the transfer first.
    var budget: MemoryBudget? { operations.first?.request.budget }

    func join(_ operation: CurlFetchOperation) {
        operations.append(operation)
        if exchange?.isNearlyComplete == true { operation.setNearlyComplete(true) }
        if operation.wantsData { replay(to: operation) }
    }

    /// Sends the bytes that have arrived so far to an operation that starts streaming late.
    func replay(to operation: CurlFetchOperation) {
        guard let exchange, exchange.body.count > 0, exchange.request.decryptor == nil else { return }
        operation.send(.data(exchange.body.data))
    }
}

// What precedes an exchange, and what it passes on.
extension CurlTransfer {
    /// Prepares the first exchange, which resumes the body of an interrupted transfer if there is one.
    func begin(_ configuration: ImageDownloader.Configuration, resuming body: PartialBody?) -> Outcome {
        exchange = Exchange(TransferRequest(key, configuration, resuming: body), of: self)
        return prepare(exchange.request)
    }

    /// Replaces the exchange by one with another request, or asks the request modifier first.
    ///
    /// Fails with `invalidURL` if the URL has no host, because libcurl would then take the first component of the path as
    /// the host.
    /// - Parameter modified: The request that the request modifier has returned; `nil` if it was not asked.
    func prepare(_ next: TransferRequest, as modified: RequestModifier.Request? = nil) -> Outcome {
        var request = next
        request.message = modified ?? request.plainMessage
        if modified == nil, !key.connectsOnly, request.target.origin == url.origin, let modifier = request.modifier {
            return ask(modifier, about: request)
        }
        guard request.message.url.host()?.isEmpty == false else {
            let remedy = "Write the host after http:// or https://, as in https://example.org/image.png."
            return .failed(exchange.error(.invalidURL, "The URL has no host", remedy: remedy))
        }
        exchange = Exchange(request, of: self)
        return .nextExchange
    }

    /// Passes bytes of the image that have arrived on to the operations.
    /// - Returns: Whether any load can use them.
    func pass(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (body, enough) = (exchange.body, ImageFormat.longestSniffLength)
        // The first bytes of the rest pass the resumed part on as well.
        let isFirst = exchange.receivedCount == bytes.count
        if isFirst || body.count - bytes.count < enough, body.count >= enough, let error = refusalOfBody {
            return exchange.fail(error)
        }
        for operation in operations {
            operation.send(.progress(received: Int64(body.count), expected: exchange.expectedCount))
        }
        if let isNearlyComplete = exchange.nearsCompletion, isNearlyComplete != exchange.isNearlyComplete {
            exchange.isNearlyComplete = isNearlyComplete
            for operation in operations { operation.setNearlyComplete(isNearlyComplete) }
        }
        let streaming = exchange.request.decryptor == nil ? operations.filter(\.wantsData) : []
        guard !streaming.isEmpty else { return true }
        let data = isFirst && exchange.resumedCount != nil ? body.data : Data(bytes)
        for operation in streaming { operation.send(.data(data)) }
        return true
    }

    /// The error of a body that no load can use, whatever follows its first bytes. Such a body may be an endless stream.
    private var refusalOfBody: ImageError? {
        // Status 202 means that the image comes later.
        guard exchange.request.decryptor == nil, exchange.head?.status != 202,
            case let head = exchange.body.data.prefix(ImageFormat.longestSniffLength),
            ImageFormat(sniffing: head) == .unknown
        else { return nil }
        let refusals = operations.map { $0.request.refusal?(Data(head)) }
        return refusals.contains { $0 == nil } ? nil : refusals.first ?? nil
    }
}
