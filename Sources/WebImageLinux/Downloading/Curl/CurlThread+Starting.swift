internal import CWebImageCurl
import FoundationEssentials
import WebImageCore

// Starting transfers.
extension CurlThread {
    func startWaitingTransfers() {
        nextToken = nil
        if let time = queue.nextLookup, time <= .now { queue.resumeLookups() }
        while !isSuspended, !isWaitingForRoom, let transfer = queue.next() {
            // All other transfers wait behind a body without room, so that the order is kept.
            if let budget = transfer.budget, !budget.hasRoomForBody {
                isWaitingForRoom = true
                budget.whenRoomForBody { [commands] in commands.post(.useRoom) }
                return
            }
            nextToken = bucket?.take(now: .now).map { .now + $0 }
            guard nextToken == nil else { return }
            start(transfer)
        }
    }

    private func start(_ transfer: CurlTransfer) {
        queue.start(transfer)
        active[transfer.number] = transfer
        transfer.hasToken = bucket != nil
        guard !transfer.isPrepared else { return chooseProxy(for: transfer) }
        transfer.exchange.request.configuration = configuration
        transfer.exchange.request.resumed = transfer.key.validators == nil ? resumableBodies.take(transfer.key) : nil
        proceed(transfer, transfer.prepare(transfer.exchange.request))
    }

    /// Continues after an exchange or its preparation. The handle of the exchange is already released.
    func proceed(_ transfer: CurlTransfer, _ outcome: CurlTransfer.Outcome) {
        switch outcome {
        case .finished(let result): finish(transfer, result)
        case .question(let question): ask(question, for: transfer)
        case .nextExchange:
            let origin = transfer.exchange.request.origin
            // The transfer waits for its turn if it has given up its place for a question, or if the exchange has another server
            // than the last one, and that server has no room.
            if case .running = transfer.phase, origin == transfer.origin || queue.move(transfer, to: origin) {
                chooseProxy(for: transfer)
            } else {
                withdraw(transfer)
                giveTokenBack(of: transfer)
                transfer.origin = origin
                queue.push(transfer, isResumed: true)
            }
        }
    }

    /// Asks the app a question of a transfer, which gives up its place until the answer.
    private func ask(_ question: AppQuestion, for transfer: CurlTransfer) {
        withdraw(transfer)
        active[transfer.number] = transfer
        let task = Task.detached(priority: transfer.priority.taskPriority) { [commands, number = transfer.number] in
            commands.post(.useAnswer(number, await question.answer()))
        }
        transfer.phase = .asking(question, task)
    }

    func giveTokenBack(of transfer: CurlTransfer) {
        guard transfer.hasToken else { return }
        transfer.hasToken = false
        bucket?.giveBack()
    }

    /// Launches the exchange once its proxy is known: at once, or after the desktop has answered.
    private func chooseProxy(for transfer: CurlTransfer) {
        switch configuration.proxy {
        case .none: transfer.exchange.request.proxy = .direct
        case .environment: transfer.exchange.request.proxy = .environment
        case .fixed(let url): transfer.exchange.request.proxy = .fixed(url.absoluteString)
        case .system:
            let (commands, number) = (commands, transfer.number)
            let url = transfer.exchange.request.message.url
            let known = commands.proxyResolver.choice(for: url) { commands.post(.useProxy(number, $0)) }
            guard let known else { return }
            transfer.exchange.request.proxy = known
        }
        launch(transfer)
    }

    func launch(_ transfer: CurlTransfer) {
        if let pause = pauses[transfer.exchange.request.origin], pause.end > .now {
            return finish(transfer, .failure(transfer.exchange.paused(until: pause.end, status: pause.status)))
        }
        guard let handle = CurlHandle() else {
            return finish(transfer, .failure(transfer.exchange.error(.connectionFailed, "libcurl is out of memory")))
        }
        // libcurl has no other way to close idle connections, and counts whole seconds.
        let age = networkChange.map { Int(bounded: (ContinuousClock.now - $0) / .seconds(1)) - 1 } ?? Self.idleAge
        handle.set(CURLOPT_MAXAGE_CONN, to: max(1, min(age, Self.idleAge)))
        handle.set(CURLOPT_SHARE, to: sharedState.share(for: transfer.key.options))
        transfer.launch(on: handle)
        let code = curl_multi_add_handle(multi, handle.easy)
        if code != CURLM_OK {
            let cause = String(cString: curl_multi_strerror(code))
            finish(transfer, .failure(transfer.exchange.error(.connectionFailed, "libcurl cannot start (\(cause))")))
        }
    }
}
