internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

/// The network thread of a downloader. Only this thread uses the object and its transfers, so there is no lock. The thread ends after
/// half a minute without transfers; the next one continues with the object, which has the connections.
final class CurlThread {
    let commands: CurlCommandQueue
    private(set) var configuration: ImageDownloader.Configuration
    var isSuspended = false
    let multi: UnsafeMutableRawPointer
    /// Created after libcurl is initialized, because creating it would initialize libcurl.
    let sharedState: CurlSharedState
    /// The waiting and running transfers.
    var transfers: [TransferKey: CurlTransfer] = [:]
    var queue = TransferQueue()
    /// The transfers that have left the queue and have deadlines: running transfers, and transfers that ask the app.
    var active: [TransferNumber: CurlTransfer] = [:]
    var resumableBodies = ResumableBodies()
    var bucket: TokenBucket?
    /// When the rate limit allows the next transfer; `nil` if it does not delay any.
    var nextToken: ContinuousClock.Instant?
    /// When the machine woke up or changed the network. Connections from before may be dead.
    var networkChange: ContinuousClock.Instant?
    /// The seconds for which idle connections are kept.
    static let idleAge = 118
    /// When the thread last began to wait, and that time on the clock that stops while the machine sleeps.
    private var waitStart = (time: ContinuousClock.now, awakeTime: SuspendingClock.now)
    /// Whether the next transfer waits until bodies have been decoded.
    var isWaitingForRoom = false
    /// The servers that have said when they may be asked again (Retry-After), by origin.
    var pauses: [Origin: (end: ContinuousClock.Instant, status: Int)] = [:]
    /// The origins with HTTP/1.1, where a connection without a request is closed, even if it was open before.
    var unsharedOrigins: Set<Origin> = []
    var serial = Serial()
    /// Whether the downloader was released: the thread ends after the remaining transfers.
    private var isStopping = false

    /// - Returns: 0, or the error number if the system starts no thread.
    static func start(_ commands: CurlCommandQueue, _ startThread: CurlCommandQueue.ThreadStarter) -> Int32 {
        _ = ExitGuard.registration
        // A Thread of Foundation would make every app load Foundation with its Unicode data.
        return startThread {
            gwi_thread_set_name("gwi-network")
            ExitGuard.enter()
            if let thread = commands.takeIdleThread() ?? CurlThread(commands) {
                thread.run()
            } else {
                commands.failAll(
                    "libcurl cannot start, for lack of descriptors or memory",
                    remedy: "Raise the limit of open files (ulimit -n), or close files."
                )
            }
            ExitGuard.leave()
        }
    }

    /// - Returns: `nil` if libcurl creates no multi handle, or one that other threads cannot wake.
    private init?(_ commands: CurlCommandQueue) {
        self.commands = commands
        configuration = commands.configuration
        gwi_curl_initialize()
        _ = ExitGuard.secondRegistration
        sharedState = CurlSharedState()
        let made = curl_multi_init()
        guard let multi = made, curl_multi_wakeup(multi) == CURLM_OK else {
            curl_multi_cleanup(made)
            return nil
        }
        self.multi = multi
    }

    private func run() {
        // curl_multi_wakeup is the only function of libcurl that may be called from any thread.
        nonisolated(unsafe) let multi = multi
        commands.setWake { curl_multi_wakeup(multi) }
        noteSleep()
        // Room may have come while the system started no thread.
        isWaitingForRoom = false
        configure()
        while true {
            for command in commands.takeAll() { handle(command) }
            // Nothing can resume a suspended downloader that was released.
            if isStopping, isSuspended { cancel { if case .running = $0.phase { false } else { true } } }
            startWaitingTransfers()
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            // An ended transfer makes room for a waiting one.
            if concludeExchanges() || endSlowTransfers(), queue.waitingCount > 0 { continue }
            commands.counts = (queue.runningCount, transfers.count - queue.runningCount)
            if isStopping, transfers.isEmpty { break }
            let timeout = pollTimeout
            ExitGuard.leave()
            waitStart = (.now, .now)
            curl_multi_poll(multi, nil, 0, timeout, nil)
            noteSleep()
            ExitGuard.enter()
            let isIdle = transfers.isEmpty && waitStart.time + commands.idleTime <= .now
            if isIdle, commands.keep(self) { return }
        }
        commands.setWake(nil)
        curl_multi_cleanup(multi)
    }

    /// Notes whether the machine has slept since the thread began to wait.
    private func noteSleep() {
        let elapsed = ContinuousClock.now - waitStart.time
        if elapsed - (SuspendingClock.now - waitStart.awakeTime) > .seconds(1) { networkChange = .now }
    }

    /// The longest time to wait for an event, in milliseconds.
    private var pollTimeout: Int32 {
        let now = ContinuousClock.now
        let rest = transfers.isEmpty ? commands.idleTime : .seconds(60)
        let check = now + (queue.starvation() == nil ? rest : .milliseconds(500))
        let deadlines = active.values.map(\.deadline) + [nextToken, queue.nextLookup, check]
        let first = deadlines.lazy.compactMap { $0 }.min() ?? now
        return max(1, (first - now).timeoutMilliseconds.boundedSum(1))
    }

    private func configure() {
        configuration = commands.configuration
        isSuspended = commands.isSuspended
        // libcurl's own limit for each host is not set, because it counts all hosts behind a proxy as one.
        queue.configure(configuration)
        // By default libcurl keeps four connections for each running transfer, so it closes some when a burst ends.
        gwi_curl_multi_set_long(
            multi,
            CURLMOPT_MAXCONNECTS,
            min(max(32, configuration.maximumConcurrentTransfers.boundedProduct(4)), Int(Int32.max))
        )
        if bucket?.limit != configuration.rateLimit {
            bucket = configuration.rateLimit.map { TokenBucket($0, now: .now) }
        }
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
            transfer.operations.removeAll { $0 === operation }
            if transfer.operations.isEmpty {
                finish(transfer, .failure(.cancelled(transfer.url)))
            } else {
                updatePriority(of: transfer)
            }
        case .updatePriority(let operation):
            if let transfer = transfers[TransferKey(operation.request)] { updatePriority(of: transfer) }
        case .startStreaming(let operation):
            guard !operation.wantsData else { return }
            operation.setWantsData()
            transfers[TransferKey(operation.request)]?.replay(to: operation)
        case .useProxy(let number, let choice):
            guard let transfer = active[number], case .running = transfer.phase, transfer.exchange.handle == nil else {
                return
            }
            transfer.exchange.request.proxy = choice
            launch(transfer)
        case .useAnswer(let number, let answer):
            if let transfer = active[number] { proceed(transfer, answer(transfer)) }
        case .useRoom:
            isWaitingForRoom = false
        case .cancelAll:
            cancel { _ in true }
        case .trimParts(let share):
            resumableBodies.trim(to: Int(bounded: Double(configuration.resumableByteCount) * share))
        case .noteNetworkChange:
            (networkChange, pauses) = (.now, [:])
        case .configure:
            configure()
        case .stop:
            isStopping = true
        }
    }

    private func join(_ operation: CurlFetchOperation) {
        let key = TransferKey(operation.request)
        if operation.request.shouldLoad != nil, let error = refusal(of: operation, transfers[key]) {
            return operation.send(.finished(.failure(error)))
        }
        if let transfer = transfers[key] {
            transfer.join(operation)
            updatePriority(of: transfer)
            return
        }
        if key.connectsOnly {
            // They must not take the places of loads.
            let others = transfers.keys.filter(\.connectsOnly).map(\.url.origin)
            guard others.count < 4, !(others + unsharedOrigins).contains(key.url.origin) else { return }
        }
        let transfer = CurlTransfer(TransferRequest(key, configuration), number: serial.next(), for: operation)
        transfers[key] = transfer
        queue.push(transfer)
    }

    /// The error if the app refuses the destination of a request: the URL as libcurl reads it, or the target of a
    /// redirect that its transfer has followed.
    private func refusal(of operation: CurlFetchOperation, _ transfer: CurlTransfer?) -> ImageError? {
        let url = operation.request.url
        var targets = transfer?.exchange.request.redirectTargets ?? []
        if let read = CurlAddress.normalized(url), read.host() != url.host()?.lowercased() {
            targets.insert(read, at: 0)
        }
        return targets.lazy.compactMap { operation.refusal(of: $0) }.first
    }

    private func cancel(where isCancelled: (CurlTransfer) -> Bool) {
        for transfer in transfers.values where isCancelled(transfer) {
            finish(transfer, .failure(.cancelled(transfer.url)))
        }
    }

    private func updatePriority(of transfer: CurlTransfer) {
        let priority = transfer.operations.map(\.priority).max() ?? .normal
        guard priority != transfer.priority else { return }
        transfer.priority = priority
        queue.updatePriority(of: transfer)
    }
}
