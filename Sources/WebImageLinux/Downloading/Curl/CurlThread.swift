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
    /// When the machine woke up or changed the network. Connections from before may be dead.
    var networkChange: ContinuousClock.Instant?
    /// The seconds for which idle connections are kept.
    private static let idleAge = 118
    /// The longest time for which a server's Retry-After is respected.
    private static let longestPause = Duration.seconds(300)
    /// Where decryptors of the app run.
    private static let decryption = WorkQueue(name: "gwi-decrypt", threadCount: 2)
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

    deinit { curl_multi_cleanup(multi) }

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
    }

    /// Notes whether the machine has slept since the thread began to wait.
    private func noteSleep() {
        let elapsed = ContinuousClock.now - waitStart.time
        if elapsed - (SuspendingClock.now - waitStart.awakeTime) > .seconds(1) { networkChange = .now }
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
            launch(transfer, through: choice)
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
        let transfer = CurlTransfer(key, number: serial.next(), for: operation)
        transfers[key] = transfer
        queue.push(transfer)
    }

    /// The error if the app refuses the destination of a request: the URL as libcurl reads it, or the target of a
    /// redirect that its transfer has followed.
    private func refusal(of operation: CurlFetchOperation, _ transfer: CurlTransfer?) -> ImageError? {
        let url = operation.request.url
        var targets = transfer?.exchange?.request.redirectTargets ?? []
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

// The way of a transfer.
extension CurlThread {
    private func startWaitingTransfers() {
        queue.resume()
        while !isSuspended, !isWaitingForRoom, let transfer = queue.start() {
            active[transfer.number] = transfer
            guard transfer.exchange == nil else {
                launch(transfer)
                continue
            }
            let mayResume = !resumableBodies.isEmpty && transfer.key.validators == nil
            let body = mayResume ? resumableBodies.take(transfer.key) : nil
            proceed(transfer, transfer.begin(configuration, resuming: body))
        }
        guard let budget = queue.fullBudget else { return }
        isWaitingForRoom = true
        budget.whenRoomForBody { [commands] in commands.post(.useRoom) }
    }

    /// Continues after an exchange or its preparation.
    private func proceed(_ transfer: CurlTransfer, _ outcome: CurlTransfer.Outcome) {
        switch outcome {
        case .finished(let result): finish(transfer, result)
        case .question(let question):
            // The transfer gives up its place until the app answers.
            withdraw(transfer, usesToken: true)
            active[transfer.number] = transfer
            let task = Task.detached(priority: transfer.priority.taskPriority) { [commands, number = transfer.number] in
                commands.post(.useAnswer(number, await question.answer()))
            }
            transfer.phase = .asking(question, task)
        case .nextExchange:
            let origin = transfer.exchange.request.origin
            // The transfer waits for its turn if it has given up its place for a question, or if the exchange has another server
            // than the last one, and that server has no room.
            if case .running = transfer.phase, origin == transfer.origin || queue.move(transfer, to: origin) {
                launch(transfer)
            } else {
                withdraw(transfer, usesToken: false)
                queue.push(transfer)
            }
        }
    }

    /// Launches the exchange of a transfer. If the desktop must be asked for the proxy, its answer launches the exchange.
    /// - Parameter known: The proxy if it is known.
    func launch(_ transfer: CurlTransfer, through known: ProxyChoice? = nil) {
        let exchange: Exchange = transfer.exchange
        guard let proxy = known ?? proxy(for: transfer) else { return }
        exchange.request.proxy = proxy
        if let pause = pauses[exchange.request.origin], pause.end > .now {
            return finish(transfer, .failure(exchange.paused(until: pause.end, status: pause.status)))
        }
        guard let handle = CurlHandle(for: exchange.request, transfer.priority, sharing: sharedState) else {
            return finish(transfer, .failure(exchange.error(.connectionFailed, "libcurl is out of memory")))
        }
        // libcurl has no other way to close idle connections, and counts whole seconds.
        let age = networkChange.map { Int(bounded: (ContinuousClock.now - $0) / .seconds(1)) - 1 } ?? Self.idleAge
        handle.set(CURLOPT_MAXAGE_CONN, to: max(1, min(age, Self.idleAge)))
        exchange.launch(on: handle)
        let code = curl_multi_add_handle(multi, handle.easy)
        if code != CURLM_OK {
            let cause = String(cString: curl_multi_strerror(code))
            finish(transfer, .failure(exchange.error(.connectionFailed, "libcurl cannot start (\(cause))")))
        }
    }

    /// The proxy of an exchange; `nil` if a command brings the answer of the desktop later.
    private func proxy(for transfer: CurlTransfer) -> ProxyChoice? {
        switch configuration.proxy {
        case .none: return .direct
        case .environment: return .environment
        case .fixed(let url): return .fixed(url.absoluteString)
        case .system where commands.proxyResolver.isUnneeded: return .environment
        case .system:
            let (commands, number) = (commands, transfer.number)
            let url = transfer.exchange.request.message.url
            return commands.proxyResolver.choice(for: url) { commands.post(.useProxy(number, $0)) }
        }
    }

    /// Concludes the exchanges that libcurl has ended.
    /// - Returns: Whether there were any.
    private func concludeExchanges() -> Bool {
        var messageCount: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &messageCount)?.pointee {
            guard message.msg == CURLMSG_DONE,
                let transfer = active.values.first(where: { $0.exchange.handle?.easy == message.easy_handle }),
                let exchange = transfer.exchange, let handle = exchange.handle
            else { continue }
            hasEnded = true
            let (origin, code) = (exchange.request.origin, message.data.result)
            if handle.long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_1_1) { unsharedOrigins.insert(origin) }
            guard !exchange.needsFreshConnection(after: code) else {
                repeatExchange(of: transfer)
                continue
            }
            noteLookup(of: exchange, handle, code)
            let outcome = exchange.conclude(code)
            // The handle is removed only now, because libcurl keeps the status and the metrics in it.
            remove(handle)
            exchange.handle = nil
            if case .finished(.failure(let error)) = outcome { notePause(error, origin) }
            proceed(transfer, outcome)
        }
        return hasEnded
    }

    private func notePause(_ error: ImageError, _ origin: Origin) {
        guard error.isTransient, let pause = error.retryAfter, let status = error.httpStatus else { return }
        pauses = pauses.filter { $0.value.end > .now }
        pauses[origin] = (.now + min(pause, Self.longestPause), status)
    }

    /// Ends a transfer: it gives up what it occupies, and its operations get the result. A transfer whose operations were all
    /// cancelled has none, and uses up its token.
    func finish(_ transfer: CurlTransfer, _ result: Result<LoaderResult, ImageError>) {
        guard transfers[transfer.key] === transfer else { return }
        let (url, operations, exchange) = (transfer.url, transfer.operations, transfer.exchange)
        transfers[transfer.key] = nil
        withdraw(transfer, usesToken: operations.isEmpty)
        if case .failure = result, configuration.resumableByteCount > 0, let body = exchange?.partialBody {
            resumableBodies.put(body, for: transfer.key, limit: configuration.resumableByteCount)
        }
        guard case .success(let loaded) = result, !loaded.isNotModified, let exchange, let head = exchange.head,
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
    private func withdraw(_ transfer: CurlTransfer, usesToken: Bool) {
        if let exchange = transfer.exchange, let handle = exchange.handle.take() {
            noteLookup(of: exchange, handle)
            remove(handle)
        }
        if case .asking(_, let task) = transfer.phase { task.cancel() }
        queue.remove(transfer, usesToken: usesToken)
        active[transfer.number] = nil
    }

    /// Ends the transfer of a handle, which may be freed only afterwards.
    func remove(_ handle: CurlHandle) {
        withExtendedLifetime(handle) { _ = curl_multi_remove_handle(multi, handle.easy) }
    }

    /// Records how the lookup of an exchange has ended: with an answer, perhaps that the host does not exist, or without one.
    private func noteLookup(of exchange: Exchange, _ handle: CurlHandle, _ code: CURLcode? = nil) {
        let host = exchange.request.origin.host
        let isUnknown = code == CURLE_COULDNT_RESOLVE_HOST || code == CURLE_COULDNT_RESOLVE_PROXY
        let isAnswered = isUnknown || handle.hasAddress || handle.isConnected
        // Nothing is left behind if another exchange with the host has an address.
        let isLeftBehind =
            !isAnswered
            && !running.contains { $0.origin.host == host && $0.exchange.handle?.hasAddress == true }
        if isLeftBehind || isAnswered && queue.limitsLookups { queue.noteLookup(of: host, isAnswered: isAnswered) }
    }
}
