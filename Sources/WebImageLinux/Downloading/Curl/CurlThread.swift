internal import CWebImageCurl
internal import CWebImageShims
import Dispatch
import FoundationEssentials
import Glibc
import WebImageCore

/// The network thread of a downloader. It alone uses this object and its transfers, so nothing here is locked.
final class CurlThread {
    private let commands: CurlCommandQueue
    private(set) var configuration: ImageDownloader.Configuration
    private var isSuspended = false
    private var publishedCounts = (running: 0, waiting: 0)
    private var multi: UnsafeMutableRawPointer?
    /// Whether other threads can wake this one. They cannot when no descriptor was free for the multi handle.
    private var isWakeable = false
    /// Made once libcurl is initialized, since it would initialize it otherwise.
    private let sharedState: CurlSharedState
    /// The transfers that wait or run.
    private var transfers: [TransferKey: CurlTransfer] = [:]
    private var queue: TransferQueue
    /// The transfers that have left the queue.
    private var active: [TransferNumber: CurlTransfer] = [:]
    /// The transfers that libcurl performs, by easy handle.
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    /// The handles of ended transfers, which the next transfers use.
    private var spareHandles: [CurlHandle] = []
    private var resumableBodies = ResumableBodies()
    var alternatives = AlternativeServices()
    private var bucket: (limit: ImageDownloader.RateLimit, tokens: TokenBucket)?
    /// The time until the rate limit allows the next transfer; `nil` when it does not delay any.
    private var rateLimitDelay: Duration?
    private var lookups = LookupLimit()
    /// Whether the next transfer waits until bodies have been decoded.
    private var isWaitingForRoom = false
    private var serial = Serial()
    /// Whether the downloader is gone: the thread ends after the transfers that are left.
    private var isStopping = false

    /// A multi handle as a value that any thread may use to wake the network thread.
    ///
    /// @unchecked: curl_multi_wakeup is the one function of libcurl that may be called from any thread.
    private struct Waker: @unchecked Sendable {
        let multi: UnsafeMutableRawPointer
    }

    /// - Returns: 0, or the error number when the system starts no thread.
    static func start(_ commands: CurlCommandQueue, _ startThread: CurlCommandQueue.ThreadStarter) -> Int32 {
        ExitGuard.register()
        // A Thread of Foundation would make every app load that library, with the Unicode data within.
        return startThread {
            gwi_thread_set_name("gwi-network")
            CurlThread(commands).run()
        }
    }

    private init(_ commands: CurlCommandQueue) {
        self.commands = commands
        configuration = commands.configuration
        queue = TransferQueue(TransferQueue.Limits(configuration))
        ExitGuard.enter()
        gwi_curl_initialize()
        ExitGuard.registerAgain()
        sharedState = CurlSharedState()
        multi = curl_multi_init()
    }

    private func run() {
        prepareToWake()
        configure()
        readAlternatives()
        while true {
            for command in commands.takeAll() { handle(command) }
            if isStopping, isSuspended { cancelWaitingTransfers() }
            // A transfer that starts after descriptors have become free must find the new handle.
            if !isWakeable { replaceMulti() }
            startWaitingTransfers()
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            // An ended transfer makes room for one that waits.
            if concludeExchanges() || endSlowTransfers(), queue.waitingCount > 0 { continue }
            publishCounts()
            if isStopping, transfers.isEmpty { break }
            let timeout = pollTimeout
            ExitGuard.leave()
            if multi != nil { curl_multi_poll(multi, nil, 0, timeout, nil) } else { usleep(UInt32(timeout) * 1000) }
            ExitGuard.enter()
        }
        commands.setWake(nil)
        spareHandles = []
        curl_multi_cleanup(multi)
        ExitGuard.leave()
    }

    /// The longest time to wait for something to happen, in milliseconds.
    private var pollTimeout: Int32 {
        var limits: [Duration] = [.seconds(60)]
        if let rateLimitDelay { limits.append(rateLimitDelay) }
        let now = ContinuousClock.now
        if let start = lookups.nextStart { limits.append(start - now) }
        limits += active.values.compactMap { $0.idleDeadline.map { $0 - now } }
        if queue.starvation() != nil { limits.append(.milliseconds(500)) }
        if !isWakeable { limits.append(.milliseconds(20)) }
        return max(1, (limits.min() ?? .zero).timeoutMilliseconds.boundedSum(1))
    }

    private func prepareToWake() {
        guard let multi else { return }
        let waker = Waker(multi: multi)
        isWakeable = curl_multi_wakeup(multi) == CURLM_OK
        commands.setWake { curl_multi_wakeup(waker.multi) }
    }

    /// Replaces a multi handle that was made while no descriptor was free, or could not be made then.
    private func replaceMulti() {
        guard running.isEmpty, let new = curl_multi_init() else { return }
        let old = multi
        guard curl_multi_wakeup(new) == CURLM_OK else {
            curl_multi_cleanup(new)
            return
        }
        multi = new
        prepareToWake()
        curl_multi_cleanup(old)
        configure()
    }

    private func configure() {
        configuration = commands.configuration
        isSuspended = commands.isSuspended
        // libcurl's own limit for each host is not set: it counts all hosts behind a proxy as one.
        queue.setLimits(TransferQueue.Limits(configuration))
        // By default libcurl keeps four connections for each running transfer, and so closes some when a burst ends.
        gwi_curl_multi_set_long(
            multi,
            CURLMOPT_MAXCONNECTS,
            min(max(32, configuration.maximumConcurrentTransfers.boundedProduct(4)), Int(Int32.max))
        )
        if bucket?.limit != configuration.rateLimit {
            bucket = configuration.rateLimit.map { ($0, TokenBucket($0, now: .now)) }
        }
    }

    private func publishCounts() {
        guard publishedCounts != (active.count, queue.waitingCount) else { return }
        publishedCounts = (active.count, queue.waitingCount)
        commands.counts = publishedCounts
    }
}

// Commands.
extension CurlThread {
    private func handle(_ command: CurlCommand) {
        switch command {
        case .start(let operation):
            if !operation.isCancelled { join(operation) }
        case .cancel(let operation):
            guard let transfer = transfers[TransferKey(operation.request)] else { return }
            transfer.leave(operation)
            if transfer.operations.isEmpty { cancel(transfer) } else { updatePriority(of: transfer) }
        case .updatePriority(let operation):
            if let transfer = transfers[TransferKey(operation.request)] { updatePriority(of: transfer) }
        case .startStreaming(let operation):
            guard !operation.wantsData else { return }
            operation.setWantsData()
            transfers[TransferKey(operation.request)]?.replay(to: operation)
        case .useProxy(let number, let choice):
            guard let transfer = active[number], transfer.exchange.handle == nil else { return }
            transfer.useProxy(choice)
            launch(transfer)
        case .useRoom:
            isWaitingForRoom = false
        case .cancelAll:
            for transfer in transfers.values { finish(transfer, .failure(.cancelled(transfer.url))) }
        case .configure:
            configure()
        case .stop:
            isStopping = true
        }
    }

    private func join(_ operation: CurlFetchOperation) {
        let key = TransferKey(operation.request)
        if let error = refusal(of: operation, transfers[key]) {
            operation.send(.finished(.failure(error)))
            return
        }
        if let transfer = transfers[key] {
            transfer.join(operation)
            updatePriority(of: transfer)
            return
        }
        let transfer = CurlTransfer(
            key,
            number: serial.next(),
            configuration: configuration,
            observers: commands.observers
        )
        transfers[key] = transfer
        transfer.join(operation)
        transfer.priority = operation.priority
        queue.push(transfer)
    }

    /// The error when the app refuses where a request leads: the URL as libcurl reads it, or the target of a redirect
    /// that its transfer has followed.
    private func refusal(of operation: CurlFetchOperation, _ transfer: CurlTransfer?) -> ImageError? {
        guard operation.request.shouldLoad != nil else { return nil }
        let url = operation.request.url
        var targets = transfer?.redirectTargets ?? []
        if let read = CurlAddress.normalized(url), read.host() != url.host()?.lowercased() {
            targets.insert(read, at: 0)
        }
        for target in targets {
            if let error = operation.refusal(of: target) { return error }
        }
        return nil
    }

    private func updatePriority(of transfer: CurlTransfer) {
        let priority = transfer.operations.map(\.priority).max() ?? .normal
        guard priority != transfer.priority else { return }
        transfer.priority = priority
        queue.updatePriority(of: transfer)
        transfer.setWeight()
    }
}

// Starting transfers.
extension CurlThread {
    private func startWaitingTransfers() {
        rateLimitDelay = nil
        for host in lookups.endPauses(now: .now) { queue.release(host) }
        while !isSuspended, queue.waitingCount > 0, hasRoomForNext() {
            rateLimitDelay = bucket?.tokens.take(now: .now)
            guard rateLimitDelay == nil else { return }
            guard let transfer = queue.pop() else {
                bucket?.tokens.giveBack()
                return
            }
            if lookups.pauses(transfer.host, now: .now) {
                bucket?.tokens.giveBack()
                queue.leave(transfer.host)
                queue.push(transfer)
                queue.hold(transfer.host)
            } else {
                start(transfer)
            }
        }
    }

    /// Whether the bodies that are not decoded yet leave room for that of the next transfer. All others wait behind it, so that
    /// the order stays what it is.
    private func hasRoomForNext() -> Bool {
        guard !isWaitingForRoom else { return false }
        guard let budget = queue.first()?.budget, !budget.hasRoomForBody else { return true }
        isWaitingForRoom = true
        budget.whenRoomForBody { [commands] in commands.post(.useRoom) }
        return false
    }

    private func start(_ transfer: CurlTransfer) {
        active[transfer.number] = transfer
        guard !transfer.hasStarted else {
            transfer.noteDequeued()
            chooseProxy(for: transfer)
            return
        }
        transfer.resumed = transfer.key.validators == nil ? resumableBodies.take(transfer.key) : nil
        do {
            try transfer.prepare(for: transfer.url)
            startExchange(of: transfer)
        } catch {
            finish(transfer, .failure(error))
        }
    }

    /// Starts an exchange that is prepared. One with another host than before, such as the target of a redirect, waits
    /// until that host has room.
    private func startExchange(of transfer: CurlTransfer) {
        let host = transfer.exchange.host
        if host != transfer.host {
            queue.leave(transfer.host)
            transfer.host = host
            let isPaused = lookups.pauses(host, now: .now)
            if isPaused { queue.hold(host) }
            guard !isPaused, queue.hasRoom(host) else {
                active[transfer.number] = nil
                bucket?.tokens.giveBack()
                transfer.noteRequeued()
                queue.push(transfer)
                return
            }
            queue.enter(host)
        }
        chooseProxy(for: transfer)
    }

    /// Launches the exchange once its proxy is known: at once, or when the desktop has answered.
    private func chooseProxy(for transfer: CurlTransfer) {
        switch configuration.proxy {
        case .none: transfer.useProxy(.direct)
        case .environment: transfer.useProxy(.environment)
        case .fixed(let url): transfer.useProxy(.proxy(url.absoluteString))
        case .system:
            let (commands, number) = (commands, transfer.number)
            let url = transfer.exchange.request.url
            let known = commands.proxyResolver.choice(for: url) { commands.post(.useProxy(number, $0)) }
            guard let known else { return }
            transfer.useProxy(known)
        }
        launch(transfer)
    }

    private func launch(_ transfer: CurlTransfer) {
        guard multi != nil else {
            finish(transfer, .failure(transfer.error(.connectionFailed, "the process has no descriptor free")))
            return
        }
        guard let handle = spareHandles.popLast() ?? CurlHandle() else {
            finish(transfer, .failure(transfer.error(.connectionFailed, "libcurl is out of memory")))
            return
        }
        transfer.useAlternative(alternative(for: transfer))
        transfer.configure(handle, share: sharedState.share(for: transfer.key.options))
        running[handle.easy] = transfer
        let code = curl_multi_add_handle(multi, handle.easy)
        if code != CURLM_OK {
            let cause = String(cString: curl_multi_strerror(code))
            finish(transfer, .failure(transfer.error(.connectionFailed, "libcurl cannot start (\(cause))")))
        }
    }
}

// Ending transfers.
extension CurlThread {
    /// Concludes the exchanges that libcurl has ended.
    /// - Returns: Whether there were any.
    private func concludeExchanges() -> Bool {
        var messageCount: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &messageCount) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
                let transfer = running[easy]
            else { continue }
            // The handle is released after this, with the status and the metrics that libcurl keeps in it.
            let handle = transfer.exchange.handle
            hasEnded = true
            noteLookup(of: transfer, message.pointee.data.result)
            guard !transfer.needsFreshConnection(after: message.pointee.data.result) else {
                transfer.takeHandle().map(release)
                transfer.repeatExchange(onFreshConnection: true)
                launch(transfer)
                continue
            }
            guard noteAlternative(of: transfer, message.pointee.data.result) else {
                transfer.takeHandle().map(release)
                transfer.repeatExchange()
                launch(transfer)
                continue
            }
            switch transfer.conclude(message.pointee.data.result) {
            case .nextExchange:
                handle.map(release)
                startExchange(of: transfer)
            case .finished(let result):
                finish(transfer, result)
            }
        }
        return hasEnded
    }

    /// Ends the transfers that receive nothing for too long, and of those that receive too little the one of the host
    /// that has the most, while another host waits for room.
    /// - Returns: Whether there were any.
    private func endSlowTransfers() -> Bool {
        let now = ContinuousClock.now
        var ended = multi.map { multi in active.values.filter { $0.isIdle(multi, now: now) } } ?? []
        if let waiting = queue.starvation() {
            guard ended.isEmpty else { return end(ended) }
            let slow = active.values.filter { transfer in
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
            for transfer in active.values { transfer.pace = nil }
        }
        return end(ended)
    }

    private func end(_ slow: [CurlTransfer]) -> Bool {
        for transfer in slow { finish(transfer, .failure(transfer.tooSlow)) }
        return !slow.isEmpty
    }

    /// Nobody can start the transfers of a suspended downloader that is gone.
    private func cancelWaitingTransfers() {
        for transfer in transfers.values where active[transfer.number] == nil {
            finish(transfer, .failure(.cancelled(transfer.url)))
        }
    }

    /// Ends a transfer whose last operation was cancelled.
    private func cancel(_ transfer: CurlTransfer) {
        keepPartialBody(of: transfer)
        if transfer.hasStarted {
            commands.observers.notify(.stopped(transfer.url, .cancelled(transfer.url)))
        }
        remove(transfer)
    }

    private func finish(_ transfer: CurlTransfer, _ result: Result<LoaderResult, ImageError>) {
        if case .failure = result { keepPartialBody(of: transfer) }
        // A transfer that never left the queue took no token.
        if active[transfer.number] != nil { bucket?.tokens.giveBack() }
        let head = transfer.exchange.head
        remove(transfer)
        let delivery = Delivery(
            url: transfer.url,
            operations: transfer.operations,
            observers: transfer.hasStarted ? commands.observers : nil
        )
        guard case .success(let loaded) = result, !loaded.isNotModified, let decryptor = transfer.decryptor, let head
        else {
            delivery.deliver(result)
            return
        }
        DispatchQueue.global().async { delivery.deliver(decryptor.result(of: loaded, head, url: delivery.url)) }
    }

    private func keepPartialBody(of transfer: CurlTransfer) {
        guard configuration.resumableByteCount > 0, let body = transfer.partialBody else { return }
        resumableBodies.put(body, for: transfer.key, limit: configuration.resumableByteCount)
    }

    /// Takes note of a name server that has answered, also that there is no such host.
    private func noteLookup(of transfer: CurlTransfer, _ result: CURLcode) {
        let isFailed = result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY
        guard isFailed || transfer.exchange.handle?.hasAddress == true else { return }
        transfer.noteEndOfLookup()
        for host in lookups.noteAnswer(for: transfer.host) { queue.release(host) }
    }

    /// Takes note of whether a transfer that is given up leaves a lookup behind.
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
        if transfer.exchange.alternative != nil, let origin = transfer.origin { alternatives.abandonTrial(of: origin) }
        if transfers[transfer.key] === transfer { transfers[transfer.key] = nil }
        queue.remove(transfer)
        if active.removeValue(forKey: transfer.number) != nil { queue.leave(transfer.host) }
        transfer.takeHandle().map(release)
    }

    private func release(_ handle: CurlHandle) {
        running[handle.easy] = nil
        curl_multi_remove_handle(multi, handle.easy)
        if spareHandles.count < configuration.maximumConcurrentTransfers {
            handle.reset()
            spareHandles.append(handle)
        }
    }
}
