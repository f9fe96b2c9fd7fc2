internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// A number that identifies a transfer across threads.
typealias TransferNumber = UInt64

/// One transfer for all operations that want it: an HTTP exchange, or several if the server redirects. Only the network
/// thread uses it.
///
/// The order is ``begin(_:resuming:)``, then ``launch(on:share:idleAge:)``, ``receive(_:)`` for each chunk of the body, and
/// ``conclude(_:)``, which may ask for the next exchange.
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
        case queued(number: UInt64)
        case running
        /// The transfer waits for an answer of the app. It occupies no place, so that other transfers do not wait for the app.
        case asking(Asking)
        case ended
    }

    /// A question that the app was asked.
    struct Asking {
        let question: AppQuestion
        /// Distinguishes the answer from the answer to an earlier question of the transfer.
        let number: UInt64
        /// When the transfer stops waiting; `nil` if it waits for a user and the load has no time limit.
        let deadline: ContinuousClock.Instant?
        /// Runs the closure of the app.
        let task: Task<Void, Never>
    }

    let key: TransferKey
    let number: TransferNumber
    /// The age of the load that requested the transfer first.
    let age: UInt64
    private(set) var operations: [CurlFetchOperation] = []
    var priority = ImagePriority.normal
    var phase = Phase.queued(number: 0)
    /// The host whose limit the transfer counts against.
    var host: String
    /// Whether the rate limit counts the transfer.
    var hasToken = false
    let createdAt = ContinuousClock.now
    private var queuedAt = ContinuousClock.now
    /// The time in the queue so far; `nil` while the transfer waits in it for the first time.
    private(set) var waitingTime: Duration?
    /// The start of the speed measurement and the bytes at that time; `nil` while no other host waits.
    var pace: (since: ContinuousClock.Instant, byteCount: Int64)?
    /// The bytes of all heads and bodies so far, as received.
    var receivedByteCount: Int64 = 0
    /// The current exchange. It has only the URL until the first one starts.
    var exchange: Exchange

    init(_ key: TransferKey, number: TransferNumber, age: UInt64, configuration: ImageDownloader.Configuration) {
        (self.key, self.number, self.age) = (key, number, age)
        exchange = Exchange(TransferRequest(key, configuration), budget: nil)
        host = exchange.request.host
    }

    var url: URL { key.url }
    /// The number of the transfer in the queue of its host.
    var queueNumber: UInt64? { if case .queued(let number) = phase { number } else { nil } }
    /// The memory budget of the load that requested the transfer first.
    var budget: MemoryBudget? { operations.first?.request.budget }

    func join(_ operation: CurlFetchOperation) {
        operations.append(operation)
        operation.setNearlyComplete(exchange.isNearlyComplete)
        if operation.wantsData { replay(to: operation) }
    }

    func leave(_ operation: CurlFetchOperation) {
        operations.removeAll { $0 === operation }
    }

    /// Sends the bytes that have arrived so far to an operation that starts streaming late.
    func replay(to operation: CurlFetchOperation) {
        if exchange.body.count > 0, exchange.request.decryptor == nil { operation.send(.data(exchange.body.data)) }
    }

    /// Records that the transfer waits again.
    func noteRequeued() { queuedAt = .now }

    /// Records that the transfer no longer waits.
    /// - Returns: Whether an exchange was already prepared.
    func noteDequeued() -> Bool {
        defer { waitingTime = (waitingTime ?? .zero) + (ContinuousClock.now - queuedAt) }
        return waitingTime != nil
    }
}

// One exchange, from its request to its end.
extension CurlTransfer {
    /// - Parameters:
    ///   - share: The state that transfers share: HSTS hosts, and cookies for requests that handle them.
    ///   - idleAge: The seconds for which a reused connection may have been idle.
    func launch(on handle: CurlHandle, share: UnsafeMutableRawPointer, idleAge: Int) {
        handle.set(CURLOPT_SHARE, to: share)
        handle.set(CURLOPT_MAXAGE_CONN, to: idleAge)
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, to: max(1, Int(connectTimeout.timeoutMilliseconds)))
        exchange.request.priority = priority
        exchange.launch(on: handle)
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
            return transfer.receiveHeaderLine(line) ? size * count : 0
        }
    }

    private func noteArrival(_ byteCount: Int) {
        exchange.lastArrival = .now
        receivedByteCount = receivedByteCount.boundedSum(Int64(byteCount))
    }

    /// - Returns: Whether the exchange continues.
    func receiveHeaderLine(_ line: UnsafeRawBufferPointer) -> Bool {
        noteArrival(line.count)
        return exchange.receiveHeaderLine(line)
    }

    /// Receives the next bytes of the body.
    /// - Returns: Whether the exchange continues.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        noteArrival(bytes.count)
        receiveHead()
        return exchange.receive(bytes) { bytes in
            // The resumed part is checked together with the first bytes of the rest.
            let known = exchange.receivedCount == 0 ? 0 : exchange.body.count
            let enough = ImageFormat.longestSniffLength
            guard exchange.keep(bytes) else { return false }
            if known < enough, exchange.body.count >= enough, let error = refusalOfBody { return exchange.fail(error) }
            reportProgress()
            estimateCompletion()
            stream(bytes)
            return true
        }
    }

    private func receiveHead() {
        guard exchange.head == nil else { return }
        exchange.receiveHead()
        if exchange.resumedCount != nil { exchange.request.resumed?.data.withUnsafeBytes { stream($0) } }
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
        } else if exchange.hasWholeHead {
            // A successful response without a body has not been handled yet.
            receiveHead()
        }
        switch exchange.verdict(after: code, tooSlow: tooSlow) {
        case .accepted: return .finished(.success(exchange.result(waitingTime: waitingTime ?? .zero)))
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
    }

    private func estimateCompletion() {
        let isNearlyComplete = exchange.nearsCompletion
        guard let isNearlyComplete, isNearlyComplete != exchange.isNearlyComplete else { return }
        exchange.isNearlyComplete = isNearlyComplete
        for operation in operations { operation.setNearlyComplete(isNearlyComplete) }
    }
}
