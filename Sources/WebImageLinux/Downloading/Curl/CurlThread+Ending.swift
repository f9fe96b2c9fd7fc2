internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// Ending transfers.
extension CurlThread {
    /// The longest time for which a server's Retry-After is respected.
    private static let longestPause = Duration.seconds(300)

    /// The transfers that libcurl performs.
    private var running: some Collection<CurlTransfer> { active.values.filter { $0.exchange.handle != nil } }

    /// Concludes the exchanges that libcurl has ended.
    /// - Returns: Whether there were any.
    func concludeExchanges() -> Bool {
        var messageCount: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &messageCount)?.pointee {
            guard message.msg == CURLMSG_DONE,
                let transfer = active.values.first(where: { $0.exchange.handle?.easy == message.easy_handle }),
                let handle = transfer.exchange.handle
            else { continue }
            hasEnded = true
            let (url, code) = (transfer.exchange.request.message.url, message.data.result)
            if handle.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_1_1) { unsharedOrigins.insert(url.origin) }
            guard !transfer.exchange.needsFreshConnection(after: code) else {
                repeatExchange(of: transfer)
                continue
            }
            if let lookup = lookupEnd(of: transfer, handle, code) { queue.note(lookup, of: transfer.origin.host) }
            let outcome = transfer.conclude(code)
            // The handle is released only now, because libcurl keeps the status and the metrics in it.
            transfer.exchange.handle = nil
            remove(handle)
            if case .finished(.failure(let error)) = outcome { notePause(error, url) }
            proceed(transfer, outcome)
        }
        return hasEnded
    }

    /// Ends transfers that have received nothing for too long. If there are none and another server waits for room, it ends
    /// one transfer that receives too little, of the server with the most running transfers.
    /// - Returns: Whether any transfer was ended.
    func endSlowTransfers() -> Bool {
        let now = ContinuousClock.now
        separate(now: now)
        var ended = active.values.filter { $0.isOverdue(multi, now: now) }
        if let waiting = queue.starvation() {
            let slow = running.filter { transfer in
                guard transfer.priority.rank <= waiting.rank,
                    queue.runningCount(of: transfer.origin) > waiting.runningCount
                else {
                    transfer.exchange.pace = nil
                    return false
                }
                return transfer.exchange.isTooSlow(now: now)
            }
            let slowest = slow.max { queue.runningCount(of: $0.origin) < queue.runningCount(of: $1.origin) }
            if ended.isEmpty, let slowest {
                ended = [slowest]
                queue.favorServers(with: waiting.runningCount)
            }
        } else {
            for transfer in running { transfer.exchange.pace = nil }
        }
        for transfer in ended {
            finish(transfer, .failure(transfer.tooSlow))
            guard let port = transfer.exchange.shutDownPort else { continue }
            for other in running where other.exchange.waits(forPort: port) { repeatExchange(of: other) }
        }
        return !ended.isEmpty
    }

    /// Opens a connection for each transfer that has waited too long to share one.
    private func separate(now: ContinuousClock.Instant) {
        for transfer in running {
            guard let end = transfer.exchange.separation, end <= now else { continue }
            let start = transfer.exchange.launchedAt
            if running.contains(where: { $0.origin == transfer.origin && $0.exchange.launchedAt < start }) {
                repeatExchange(of: transfer, since: start)
            }
        }
    }

    /// Repeats the exchange of a transfer on a new connection.
    /// - Parameter start: The time from which the limit for connecting counts.
    private func repeatExchange(of transfer: CurlTransfer, since start: ContinuousClock.Instant = .now) {
        let old = transfer.exchange
        old.handle.map(remove)
        transfer.exchange = Exchange(old.request, budget: transfer.budget, connectStart: start)
        launch(transfer)
    }

    private func notePause(_ error: ImageError, _ url: URL) {
        guard error.isTransient, let pause = error.retryAfter, let status = error.httpStatus else { return }
        pauses = pauses.filter { $0.value.end > .now }
        pauses[url.origin] = (.now + min(pause, Self.longestPause), status)
    }

    /// Where decryptors of the app run.
    private static let decryption = WorkQueue(name: "gwi-decrypt", threadCount: 2)

    /// Ends a transfer: it gives up what it occupies, and its operations get the result. A transfer whose operations were all
    /// cancelled has none, and uses up its token.
    func finish(_ transfer: CurlTransfer, _ result: Result<LoaderResult, ImageError>) {
        guard transfers[transfer.key] === transfer else { return }
        let (url, operations, exchange) = (transfer.url, transfer.operations, transfer.exchange)
        transfers[transfer.key] = nil
        withdraw(transfer)
        if !operations.isEmpty { giveTokenBack(of: transfer) }
        if case .failure = result, configuration.resumableByteCount > 0, let body = exchange.partialBody {
            resumableBodies.put(body, for: transfer.key, limit: configuration.resumableByteCount)
        }
        guard case .success(let loaded) = result, !loaded.isNotModified, let head = exchange.head,
            let decryptor = exchange.request.decryptor
        else {
            for operation in operations { operation.send(.finished(result)) }
            return
        }
        let code = Self.decryption.start()
        guard code == 0 else {
            for operation in operations { operation.send(.finished(.failure(.noThread(for: url, code)))) }
            return
        }
        Self.decryption.submit(priority: transfer.priority) {
            let decrypted = decryptor.result(of: loaded, head, url: url)
            for operation in operations { operation.send(.finished(decrypted)) }
        }
    }

    /// Takes a transfer out of its phase: it gives up its place or its question, and its handle.
    func withdraw(_ transfer: CurlTransfer) {
        let handle = transfer.exchange.handle.take()
        let lookup = handle.flatMap { lookupEnd(of: transfer, $0) }
        handle.map(remove)
        switch transfer.phase {
        case .queued: queue.remove(transfer)
        case .running: queue.leave(transfer.origin, lookup)
        case .asking(_, let task): task.cancel()
        }
        active[transfer.number] = nil
    }

    /// Ends the transfer of a handle, which may be freed only afterwards.
    private func remove(_ handle: CurlHandle) {
        withExtendedLifetime(handle) { _ = curl_multi_remove_handle(multi, handle.easy) }
    }

    /// The end of the lookup of a transfer; `nil` if another transfer of the host has an address.
    private func lookupEnd(of transfer: CurlTransfer, _ handle: CurlHandle, _ code: CURLcode? = nil) -> LookupEnd? {
        let isUnknown = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY
        if isUnknown || handle.hasAddress || handle.isConnected { return .answered }
        let host = transfer.origin.host
        let isKnown = running.contains { $0.origin.host == host && $0.exchange.handle?.hasAddress == true }
        return isKnown ? nil : .leftBehind
    }
}
