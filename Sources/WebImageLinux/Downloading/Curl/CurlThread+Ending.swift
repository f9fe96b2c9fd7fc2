internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// Ending transfers.
extension CurlThread {
    /// The longest time for which a server's Retry-After is respected.
    private static let longestPause = Duration.seconds(300)

    /// Concludes the exchanges that libcurl has ended.
    /// - Returns: Whether there were any.
    func concludeExchanges() -> Bool {
        var messageCount: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &messageCount) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = running[easy]
            else { continue }
            // The handle is released after this, because libcurl keeps the status and the metrics in it.
            let handle = transfer.exchange.handle
            hasEnded = true
            noteLookup(of: transfer, message.pointee.data.result)
            if handle?.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_1_1) {
                unsharedOrigins.insert(transfer.exchange.request.message.url.origin)
            }
            guard !transfer.exchange.needsFreshConnection(after: message.pointee.data.result) else {
                repeatExchange(of: transfer)
                continue
            }
            let outcome = transfer.conclude(message.pointee.data.result)
            if case .finished(.failure(let error)) = outcome { notePause(error, transfer.exchange.request.message.url) }
            switch outcome {
            case .finished: break
            case .nextExchange: handle.map(release)
            // The exchange is kept until the app has answered.
            case .question: transfer.exchange.handle.take().map(release)
            }
            proceed(transfer, outcome)
        }
        return hasEnded
    }

    /// Ends transfers that have received nothing for too long. If there are none and another host waits for room, it ends
    /// one transfer that receives too little, on the host with the most running transfers.
    /// - Returns: Whether any transfer was ended.
    func endSlowTransfers() -> Bool {
        let now = ContinuousClock.now
        separate(now: now)
        var ended = active.values.filter { $0.isOverdue(multi, now: now) }
        if let waiting = queue.starvation() {
            guard ended.isEmpty else { return end(ended) }
            let slow = running.values.filter { transfer in
                guard transfer.priority.rank <= waiting.rank,
                    queue.runningCount(of: transfer.host) > waiting.runningCount
                else {
                    transfer.pace = nil
                    return false
                }
                return transfer.isTooSlow(now: now)
            }
            ended = slow.max { queue.runningCount(of: $0.host) < queue.runningCount(of: $1.host) }.map { [$0] } ?? []
            if !ended.isEmpty { queue.favorHosts(with: waiting.runningCount) }
        } else {
            for transfer in running.values { transfer.pace = nil }
        }
        return end(ended)
    }

    /// Opens a connection for each transfer that has waited too long to share one.
    private func separate(now: ContinuousClock.Instant) {
        for transfer in running.values where transfer.needsOwnConnection(now: now) {
            let start = transfer.exchange.launchedAt
            guard running.values.contains(where: { $0.host == transfer.host && $0.exchange.launchedAt < start }) else {
                continue
            }
            repeatExchange(of: transfer, connectStart: start)
        }
    }

    /// Repeats the exchange of a transfer on a new connection.
    private func repeatExchange(of transfer: CurlTransfer, connectStart: ContinuousClock.Instant? = nil) {
        let old = transfer.exchange
        old.handle.take().map(release)
        let connection = Exchange.Connection.fresh(since: connectStart)
        transfer.exchange = Exchange(old.request, budget: transfer.budget, connection: connection)
        launch(transfer)
    }

    private func end(_ slow: [CurlTransfer]) -> Bool {
        for transfer in slow {
            finish(transfer, .failure(transfer.tooSlow))
            guard case .shutDown(let port) = transfer.exchange.socketState else { continue }
            for other in running.values where other.exchange.waits(forPort: port) { repeatExchange(of: other) }
        }
        return !slow.isEmpty
    }

    private func notePause(_ error: ImageError, _ url: URL) {
        guard error.isTransient, let pause = error.retryAfter, let status = error.httpStatus else { return }
        pauses = pauses.filter { $0.value.end > .now }
        pauses[url.origin] = (.now + min(pause, Self.longestPause), status)
    }

    /// The error of a transfer to a server that must not be asked for a while.
    func pauseError(of transfer: CurlTransfer) -> ImageError? {
        guard !pauses.isEmpty, let pause = pauses[transfer.exchange.request.message.url.origin], pause.end > .now else {
            return nil
        }
        return ImageError(
            .badStatus,
            url: transfer.url,
            reason: "The server has answered with status \(pause.status) and wants to be asked later",
            remedy: "Load the image again after the time in retryAfter.",
            head: ResponseHead(url: transfer.exchange.request.message.url, status: pause.status),
            retryAfter: pause.end - .now
        )
    }

    /// Ends the waiting transfers of a suspended downloader that was released, because nothing can resume it.
    func cancelWaitingTransfers() {
        for transfer in transfers.values {
            if case .running = transfer.phase { continue }
            finish(transfer, .failure(.cancelled(transfer.url)))
        }
    }

    /// Ends a transfer whose last operation was cancelled.
    func cancel(_ transfer: CurlTransfer) {
        keepPartialBody(of: transfer)
        remove(transfer)
    }

    /// Where decryptors of the app run.
    private static let decryption = WorkQueue(name: "gwi-decrypt", threadCount: 2)

    func finish(_ transfer: CurlTransfer, _ result: Result<LoaderResult, ImageError>) {
        if case .failure = result { keepPartialBody(of: transfer) }
        giveTokenBack(of: transfer)
        let (url, operations, exchange) = (transfer.url, transfer.operations, transfer.exchange)
        remove(transfer)
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

    private func keepPartialBody(of transfer: CurlTransfer) {
        guard configuration.resumableByteCount > 0, let body = transfer.exchange.partialBody else { return }
        resumableBodies.put(body, for: transfer.key, limit: configuration.resumableByteCount)
    }

    /// Records that the name server has answered, even if it answered that the host does not exist.
    private func noteLookup(of transfer: CurlTransfer, _ result: CURLcode) {
        let isFailed = result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY
        guard isFailed || transfer.exchange.handle?.hasAddress == true else { return }
        transfer.exchange.hasEndedLookup = true
        for host in lookups.noteAnswer(for: transfer.host) { queue.release(host) }
    }

    /// Records whether an abandoned transfer leaves a lookup behind.
    private func noteLookup(of transfer: CurlTransfer) {
        guard !transfer.exchange.hasEndedLookup, let handle = transfer.exchange.handle else { return }
        if handle.hasAddress || handle.isConnected {
            for host in lookups.noteAnswer(for: transfer.host) { queue.release(host) }
        } else if !running.values.contains(where: { $0.host == transfer.host && $0.exchange.handle?.hasAddress == true }
        ) {
            lookups.noteLeftBehind(for: transfer.host, now: .now)
        }
    }

    private func remove(_ transfer: CurlTransfer) {
        noteLookup(of: transfer)
        if transfers[transfer.key] === transfer { transfers[transfer.key] = nil }
        withdraw(transfer)
        transfer.phase = .ended
        transfer.exchange.handle.take().map(release)
    }

    private func release(_ handle: CurlHandle) {
        running[handle.easy] = nil
        curl_multi_remove_handle(multi, handle.easy)
    }
}
