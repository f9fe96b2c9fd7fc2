internal import CWebImageCurl
internal import CWebImageShims
import Foundation
import WebImageCore

/// The network thread: everything in here happens on it, so nothing is locked.
final class CurlThread {
    private let inbox: CurlCommandQueue
    private var configuration: ImageDownloader.Configuration
    private var isSuspended = false
    private var counts = (running: 0, waiting: 0)
    private let multi: UnsafeMutableRawPointer
    private let shares = CurlSharedState()
    /// Transfers that wait or run.
    private var transfers: [TransferKey: CurlTransfer] = [:]
    private var waiting = PriorityQueue<CurlTransfer>()
    /// Those that have left the queue.
    private var active: [TransferNumber: CurlTransfer] = [:]
    private var activeByHost: [String: Int] = [:]
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// Handles of ended transfers, kept for the next ones.
    private var spare: [UnsafeMutableRawPointer] = []
    private var partials = ResumableBodies()
    private var bucket: (limit: ImageDownloader.RateLimit, tokens: TokenBucket)?
    /// How long until the next transfer may be started, when it is the rate limit that holds it up.
    private var pause: Duration?
    private var lastNumber: TransferNumber = 0
    /// The downloader is gone: what is under way is finished, and then the thread ends.
    private var isStopping = false

    /// A multi handle, which any thread may wake.
    private struct Waker: @unchecked Sendable {
        let multi: UnsafeMutableRawPointer
    }

    static func start(_ inbox: CurlCommandQueue) {
        let thread = Thread { CurlThread(inbox).run() }
        thread.name = "gwi-network"
        thread.start()
    }

    private init(_ inbox: CurlCommandQueue) {
        self.inbox = inbox
        configuration = inbox.configuration
        curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        multi = curl_multi_init()!
    }

    private func run() {
        let waker = Waker(multi: multi)
        inbox.setWake { curl_multi_wakeup(waker.multi) }
        configure()
        while true {
            for command in inbox.take() { obey(command) }
            startWaiting()
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            // What ended has made room for what waits.
            if finishDone(), waiting.count > 0 { continue }
            publishCounts()
            if isStopping, transfers.isEmpty { break }
            let timeout = pause.map { Int32(($0 / .milliseconds(1)).rounded(.up)) } ?? 60_000
            curl_multi_poll(multi, nil, 0, max(1, timeout), nil)
        }
        inbox.setWake(nil)
        spare.forEach { curl_easy_cleanup($0) }
        curl_multi_cleanup(multi)
    }

    private func configure() {
        configuration = inbox.configuration
        isSuspended = inbox.isSuspended
        gwi_curl_multi_set_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, configuration.maximumTransfersPerHost))
        if bucket?.limit != configuration.rateLimit {
            bucket = configuration.rateLimit.map { ($0, TokenBucket($0, now: .now)) }
        }
    }

    private func publishCounts() {
        guard counts != (active.count, waiting.count) else { return }
        counts = (active.count, waiting.count)
        inbox.counts = counts
    }

    private func obey(_ command: CurlCommand) {
        switch command {
        case .start(let operation):
            if !operation.isCancelled { join(operation) }
        case .cancel(let operation):
            guard let transfer = transfers[TransferKey(operation.request)] else { return }
            transfer.leave(operation)
            if transfer.operations.isEmpty { drop(transfer) } else { updatePriority(of: transfer) }
        case .prioritize(let operation):
            if let transfer = transfers[TransferKey(operation.request)] { updatePriority(of: transfer) }
        case .startStreaming(let operation):
            guard !operation.wantsData else { return }
            operation.startDeliveringData()
            transfers[TransferKey(operation.request)]?.replay(to: operation)
        case .useProxy(let number, let choice):
            guard let transfer = active[number], transfer.easy == nil else { return }
            transfer.proxy = choice
            launch(transfer)
        case .cancelAll:
            for transfer in transfers.values { end(transfer, .failure(.cancelled(transfer.url))) }
        case .configure:
            configure()
        case .stop:
            isStopping = true
        }
    }

    private func join(_ operation: CurlFetchOperation) {
        let key = TransferKey(operation.request)
        if let transfer = transfers[key] {
            transfer.join(operation)
            updatePriority(of: transfer)
            return
        }
        lastNumber += 1
        let transfer = CurlTransfer(key, lastNumber, configuration, inbox.observers)
        transfers[key] = transfer
        transfer.join(operation)
        transfer.priority = operation.priority
        transfer.queueNumber = waiting.push(transfer, transfer.priority)
    }

    private func updatePriority(of transfer: CurlTransfer) {
        let priority = transfer.operations.map(\.priority).max() ?? .normal
        guard priority != transfer.priority else { return }
        transfer.priority = priority
        if let number = transfer.queueNumber { waiting.move(number, to: priority) }
        transfer.setWeight()
    }
}

// Starting.
extension CurlThread {
    private func startWaiting() {
        pause = nil
        while !isSuspended, waiting.count > 0, active.count < max(1, configuration.maximumConcurrentTransfers) {
            pause = bucket?.tokens.take(now: .now)
            guard pause == nil else { return }
            let isNewestFirst = configuration.transferOrder == .lastInFirstOut
            let limit = max(1, configuration.maximumTransfersPerHost)
            guard let transfer = waiting.pop(newestFirst: isNewestFirst, where: { activeByHost[$0.host] ?? 0 < limit })
            else {
                bucket?.tokens.giveBack()
                return
            }
            begin(transfer)
        }
    }

    private func begin(_ transfer: CurlTransfer) {
        transfer.queueNumber = nil
        active[transfer.number] = transfer
        activeByHost[transfer.host, default: 0] += 1
        transfer.resumed = transfer.key.validators == nil ? partials.take(transfer.key) : nil
        do {
            try transfer.prepare(for: transfer.url)
            chooseProxy(transfer)
        } catch {
            end(transfer, .failure(error))
        }
    }

    private func chooseProxy(_ transfer: CurlTransfer) {
        switch configuration.proxy {
        case .none: transfer.proxy = .direct
        case .environment: transfer.proxy = .environment
        case .fixed(let url): transfer.proxy = .proxy(url.absoluteString)
        case .system:
            let (inbox, number) = (inbox, transfer.number)
            let known = inbox.proxyResolver.choice(for: transfer.request.url) { inbox.post(.useProxy(number, $0)) }
            guard let known else { return }
            transfer.proxy = known
        }
        launch(transfer)
    }

    private func launch(_ transfer: CurlTransfer) {
        guard let easy = spare.popLast() ?? curl_easy_init() else {
            end(transfer, .failure(transfer.error(.connectionFailed, "libcurl has no memory for a handle")))
            return
        }
        transfer.configure(easy, share: shares.share(hasCookies: transfer.key.options.handlesCookies))
        running[easy] = transfer
        let code = curl_multi_add_handle(multi, easy)
        if code != CURLM_OK {
            end(transfer, .failure(transfer.error(.connectionFailed, String(cString: curl_multi_strerror(code)))))
        }
    }
}

// Ending.
extension CurlThread {
    /// - Returns: Whether anything ended.
    private func finishDone() -> Bool {
        var left: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle else { continue }
            guard let transfer = running[easy] else { continue }
            switch transfer.conclude(message.pointee.data.result) {
            case .again:
                releaseHandle(of: transfer)
                chooseProxy(transfer)
            case .end(let result):
                end(transfer, result)
            }
            hasEnded = true
        }
        return hasEnded
    }

    /// Nobody waits for it any more.
    private func drop(_ transfer: CurlTransfer) {
        keepPartial(of: transfer)
        if active[transfer.number] != nil { inbox.observers.tell(.stopped(transfer.url, .cancelled(transfer.url))) }
        release(transfer)
    }

    private func end(_ transfer: CurlTransfer, _ result: Result<LoaderResult, ImageError>) {
        if case .failure = result { keepPartial(of: transfer) }
        // Those who watch have not heard of one that never left the queue, and it has taken no token.
        let wasStarted = active[transfer.number] != nil
        if wasStarted { bucket?.tokens.giveBack() }
        release(transfer)
        guard case .success(let loaded) = result, !loaded.isNotModified, let decryptor = transfer.decryptor else {
            deliver(transfer.url, result, to: transfer.operations, wasStarted ? inbox.observers : nil)
            return
        }
        let (url, head, operations, observers) = (transfer.url, transfer.head, transfer.operations, inbox.observers)
        DispatchQueue.global().async {
            deliver(url, decrypted(loaded, decryptor, head, url), to: operations, observers)
        }
    }

    private func keepPartial(of transfer: CurlTransfer) {
        guard configuration.resumableByteCount > 0, let partial = transfer.partial else { return }
        partials.put(partial, for: transfer.key, limit: configuration.resumableByteCount)
    }

    private func release(_ transfer: CurlTransfer) {
        if transfers[transfer.key] === transfer { transfers[transfer.key] = nil }
        if let number = transfer.queueNumber { _ = waiting.remove(number) }
        if active.removeValue(forKey: transfer.number) != nil {
            let count = (activeByHost[transfer.host] ?? 1) - 1
            activeByHost[transfer.host] = count > 0 ? count : nil
        }
        releaseHandle(of: transfer)
    }

    private func releaseHandle(of transfer: CurlTransfer) {
        guard let easy = transfer.takeHandle() else { return }
        running[easy] = nil
        curl_multi_remove_handle(multi, easy)
        if spare.count < configuration.maximumConcurrentTransfers {
            curl_easy_reset(easy)
            spare.append(easy)
        } else {
            curl_easy_cleanup(easy)
        }
    }
}

extension CurlTransfer {
    /// Whose limit it counts against.
    fileprivate var host: String { key.url.host()?.lowercased() ?? "" }
}

private func decrypted(
    _ loaded: LoaderResult,
    _ decryptor: Decryptor,
    _ head: ResponseModifier.Response,
    _ url: URL
) -> Result<LoaderResult, ImageError> {
    var loaded = loaded
    guard let data = decryptor.decrypt(loaded.data, head) else {
        let remedy = "See that it has the right key for what the server sends."
        return .failure(
            ImageError(.badImageData, url: url, reason: "The decryptor \(decryptor.key) failed", remedy: remedy)
        )
    }
    loaded.data = data
    return .success(loaded)
}

private func deliver(
    _ url: URL,
    _ result: Result<LoaderResult, ImageError>,
    to operations: [CurlFetchOperation],
    _ observers: TransferObservers?
) {
    switch result {
    case .success(let loaded):
        observers?.tell(.stopped(url, nil))
        observers?.tell(.finished(url, loaded.metrics ?? TransferMetrics()))
    case .failure(let error):
        observers?.tell(.stopped(url, error))
    }
    for operation in operations { operation.send(.finished(result)) }
}
