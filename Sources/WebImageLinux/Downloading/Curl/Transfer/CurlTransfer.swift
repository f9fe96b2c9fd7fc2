internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// A number that identifies a transfer across threads.
typealias TransferNumber = UInt64

/// One transfer for all operations that want it: an HTTP exchange, or several if the server redirects. Only the network
/// thread uses it.
///
/// The order is ``prepare(_:)``, then ``launch(on:)``, ``receive(_:)`` for each chunk of the body, and ``conclude(_:)``, which may
/// prepare the next exchange.
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
        /// The transfer waits for a place, under a number in the queue of its host.
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
    /// The host whose limit the transfer counts against.
    var host: String
    /// Whether the rate limit counts the transfer.
    var hasToken = false
    let createdAt = ContinuousClock.now
    /// The time in the queue so far.
    var waitingTime = Duration.zero
    /// The current exchange. It has only the URL until the first one is prepared.
    var exchange: Exchange
    var isPrepared = false

    init(_ request: TransferRequest, number: TransferNumber, for operation: CurlFetchOperation) {
        (key, self.number, age) = (request.key, number, operation.request.age)
        (operations, priority) = ([operation], operation.priority)
        exchange = Exchange(request, budget: nil)
        host = exchange.request.host
    }

    var url: URL { key.url }
    /// The number of the transfer in the queue of its host.
    var queueNumber: UInt64? { if case .queued(let number, _) = phase { number } else { nil } }
    /// The memory budget of the load that requested the transfer first.
    var budget: MemoryBudget? { operations.first?.request.budget }

    func join(_ operation: CurlFetchOperation) {
        operations.append(operation)
        if exchange.isNearlyComplete { operation.setNearlyComplete(true) }
        if operation.wantsData { replay(to: operation) }
    }

    /// Sends the bytes that have arrived so far to an operation that starts streaming late.
    func replay(to operation: CurlFetchOperation) {
        if exchange.body.count > 0, exchange.request.decryptor == nil { operation.send(.data(exchange.body.data)) }
    }
}

// One exchange, from its request to its end.
extension CurlTransfer {
    /// Prepares a handle for the exchange. libcurl starts it when the handle is added to the multi handle.
    func launch(on handle: CurlHandle) {
        exchange.connectTimeout = connectTimeout
        (exchange.handle, exchange.launchedAt) = (handle, .now)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, to: max(1, Int(connectTimeout.timeoutMilliseconds)))
        if exchange.connectStart != nil { handle.set(CURLOPT_FRESH_CONNECT, to: 1) }
        exchange.request.configure(handle, priority)
        handle.set(CURLOPT_WRITEDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            // Any other result than the byte count aborts the transfer. For an empty chunk, the count is 0.
            guard count > 0 else { return 0 }
            return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
        handle.set(CURLOPT_HEADERDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_HEADERFUNCTION) { line, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            let line = UnsafeRawBufferPointer(start: line, count: size * count)
            return transfer.exchange.receiveHeaderLine(line) ? size * count : 0
        }
    }

    /// Receives the next bytes of the body.
    /// - Returns: Whether the exchange continues.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if exchange.head == nil {
            exchange.receiveHead()
            if exchange.resumedCount != nil { exchange.request.resumed?.data.withUnsafeBytes { stream($0) } }
        }
        return exchange.receive(bytes) { bytes in
            // The resumed part is checked together with the first bytes of the rest.
            let known = exchange.receivedCount == 0 ? 0 : exchange.body.count
            let enough = ImageFormat.longestSniffLength
            guard exchange.keep(bytes) else { return false }
            if known < enough, exchange.body.count >= enough, let error = refusalOfBody { return exchange.fail(error) }
            reportProgress()
            stream(bytes)
            return true
        }
    }

    /// The error of a body that no load can use, whatever follows its first bytes. Such a body may be an endless stream.
    private var refusalOfBody: ImageError? {
        // Status 202 means that the image comes later.
        guard exchange.request.decryptor == nil, exchange.head?.status != 202 else { return nil }
        let head = exchange.body.data.prefix(ImageFormat.longestSniffLength)
        let refusals = operations.map { $0.request.refusal?(Data(head)) }
        return refusals.contains { $0 == nil } ? nil : refusals.first ?? nil
    }

    /// Turns libcurl's result into the outcome of the exchange.
    func conclude(_ code: CURLcode) -> Outcome {
        if code != CURLE_OK {
            exchange.receiveRefusalOfProxy()
        } else if exchange.head == nil, exchange.hasWholeHead {
            // The response has no body.
            exchange.receiveHead()
        }
        switch exchange.verdict(after: code, tooSlow: tooSlow) {
        case .accepted: return .finished(.success(exchange.result(waitingTime: waitingTime)))
        case .redirected: return followRedirect()
        case .refused(let error): return recover(from: error)
        case .failed(let error): return .failed(error)
        // The whole body is requested.
        case .resumeRefused:
            exchange.request.resumed = nil
            return prepare(exchange.request)
        }
    }
}

// Reports to the operations.
extension CurlTransfer {
    private func stream(_ bytes: UnsafeRawBufferPointer) {
        guard exchange.request.decryptor == nil, bytes.count > 0 else { return }
        let streaming = operations.filter(\.wantsData)
        guard !streaming.isEmpty else { return }
        let data = Data(bytes)
        for operation in streaming { operation.send(.data(data)) }
    }

    private func reportProgress() {
        let (count, expected) = (Int64(exchange.body.count), exchange.expectedCount)
        for operation in operations { operation.send(.progress(received: count, expected: expected)) }
        let isNearlyComplete = exchange.nearsCompletion
        guard let isNearlyComplete, isNearlyComplete != exchange.isNearlyComplete else { return }
        exchange.isNearlyComplete = isNearlyComplete
        for operation in operations { operation.setNearlyComplete(isNearlyComplete) }
    }
}

// Limits of the time that a transfer may take.
extension CurlTransfer {
    /// The time limit for connecting at the launch of an exchange.
    var connectTimeout: Duration {
        let limit = key.options.connectTimeout ?? exchange.request.configuration.connectTimeout
        return operations.first?.request.isQuickAttempt == true ? min(limit, .seconds(3)) : limit
    }

    /// The end of the time limit for the whole transfer, including redirects but not the time in the queue.
    var totalDeadline: ContinuousClock.Instant? {
        exchange.request.totalTimeout.map { createdAt + waitingTime + $0.bounded }
    }

    /// The time at which the transfer is over or must be checked, unless bytes arrive before. libcurl has time limits
    /// as well, but none for a transfer that it holds back until another one has connected to the host.
    var deadline: ContinuousClock.Instant? {
        if case .asking(let question, _) = phase { return question.deadline }
        let limits = [exchange.idleDeadline, totalDeadline, exchange.separation.flatMap { $0 > .now ? $0 : nil }]
        return limits.compactMap { $0 }.min()
    }

    /// Whether the app has not answered in time, or the transfer has taken too long, or neither the transfer nor its
    /// socket has received anything for too long.
    func isOverdue(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) -> Bool {
        if case .asking(let question, _) = phase { return isOver(question.deadline, now: now) }
        if isOver(totalDeadline, now: now) { return true }
        guard isOver(exchange.idleDeadline, now: now) else { return false }
        exchange.askSocket(multi, now: now)
        return isOver(exchange.idleDeadline, now: now)
    }

    private func isOver(_ deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// The error of a transfer that has reached one of its time limits.
    var tooSlow: ImageError {
        if case .asking(let question, _) = phase { return question.silence }
        let limit = isOver(totalDeadline, now: .now) ? exchange.request.totalTimeout : nil
        guard exchange.pace == nil || exchange.arrival == nil || limit != nil else {
            let speed = Magnitude.bytes(Exchange.minimumSpeed)
            let reason = "The server sent less than \(speed) per second while another host waited"
            let place = "maximumConcurrentTransfers in the downloader's configuration"
            return exchange.error(.timedOut, reason, remedy: "Load the image again later, or raise \(place).")
        }
        let cause =
            if let limit {
                "it took longer than \(limit)"
            } else if exchange.arrival == nil {
                "there was no connection after \(exchange.connectTimeout)"
            } else {
                "nothing arrived for \(exchange.request.idleTimeout)"
            }
        return exchange.error(.timedOut, "The request timed out (\(cause))")
    }
}
