internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// Starting transfers.
extension CurlThread {
    func startWaitingTransfers() {
        nextToken = nil
        for host in lookups.endPauses(now: .now) { queue.release(host) }
        while !isSuspended, queue.waitingCount > 0, hasRoomForNext() {
            nextToken = bucket?.tokens.take(now: .now).map { .now + $0 }
            guard nextToken == nil else { return }
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

    /// Whether the bodies that are not decoded yet leave room for the body of the next transfer. All other transfers
    /// wait behind it, so that the order is kept.
    private func hasRoomForNext() -> Bool {
        guard !isWaitingForRoom else { return false }
        guard let budget = queue.first()?.budget, !budget.hasRoomForBody else { return true }
        isWaitingForRoom = true
        budget.whenRoomForBody { [commands] in commands.post(.useRoom) }
        return false
    }

    private func start(_ transfer: CurlTransfer) {
        active[transfer.number] = transfer
        transfer.hasToken = bucket != nil
        guard !transfer.noteDequeued() else { return chooseProxy(for: transfer) }
        let part = transfer.key.validators == nil ? resumableBodies.take(transfer.key) : nil
        proceed(transfer, transfer.begin(configuration, resuming: part))
    }

    /// Continues after an exchange or its preparation. The handle of the exchange is already released.
    func proceed(_ transfer: CurlTransfer, _ outcome: CurlTransfer.Outcome) {
        switch outcome {
        case .finished(let result): finish(transfer, result)
        case .nextExchange: startExchange(of: transfer)
        case .question(let question): ask(question, for: transfer)
        }
    }

    /// Starts a prepared exchange. An exchange with another host than before, such as the target of a redirect, waits
    /// until that host has room.
    private func startExchange(of transfer: CurlTransfer) {
        let host = transfer.exchange.request.host
        if host != transfer.host {
            let isPaused = lookups.pauses(host, now: .now)
            if isPaused { queue.hold(host) }
            guard !isPaused, queue.hasRoom(host) else { return requeue(transfer) }
            queue.leave(transfer.host)
            queue.enter(host)
            transfer.host = host
        }
        chooseProxy(for: transfer)
    }

    /// Makes a transfer with a prepared exchange wait for its turn.
    private func requeue(_ transfer: CurlTransfer) {
        withdraw(transfer)
        giveTokenBack(of: transfer)
        transfer.host = transfer.exchange.request.host
        transfer.noteRequeued()
        queue.push(transfer, isResumed: true)
    }

    /// Takes a transfer out of its phase, and gives up its place or its question.
    func withdraw(_ transfer: CurlTransfer) {
        switch transfer.phase {
        case .queued: queue.remove(transfer)
        case .running: queue.leave(transfer.host)
        case .asking(let asking): asking.task.cancel()
        case .ended: break
        }
        active[transfer.number] = nil
    }

    /// Asks the app a question of a transfer.
    private func ask(_ question: AppQuestion, for transfer: CurlTransfer) {
        withdraw(transfer)
        active[transfer.number] = transfer
        let (commands, transferNumber, number) = (commands, transfer.number, serial.next())
        transfer.ask(question, number: number) { commands.post(.useAnswer(transferNumber, number, $0)) }
    }

    /// Passes an answer of the app on to its transfer.
    func use(_ answer: AppQuestion.Answer, for number: UInt64, of transferNumber: TransferNumber) {
        guard let transfer = active[transferNumber], case .asking(let asking) = transfer.phase, asking.number == number
        else { return }
        switch transfer.goOn(with: answer, to: asking.question) {
        case .nextExchange: requeue(transfer)
        case let outcome: proceed(transfer, outcome)
        }
    }

    func giveTokenBack(of transfer: CurlTransfer) {
        guard transfer.hasToken else { return }
        transfer.hasToken = false
        bucket?.tokens.giveBack()
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
        if let error = pauseError(of: transfer) { return finish(transfer, .failure(error)) }
        guard let handle = CurlHandle() else {
            finish(transfer, .failure(transfer.exchange.error(.connectionFailed, "libcurl is out of memory")))
            return
        }
        // libcurl has no other way to close idle connections, and counts whole seconds.
        let age = networkChange.map { Int(bounded: (ContinuousClock.now - $0) / .seconds(1)) - 1 } ?? Self.idleAge
        let share = sharedState.share(for: transfer.key.options)
        transfer.launch(on: handle, share: share, idleAge: max(1, min(age, Self.idleAge)))
        running[handle.easy] = transfer
        let code = curl_multi_add_handle(multi, handle.easy)
        if code != CURLM_OK {
            let cause = String(cString: curl_multi_strerror(code))
            finish(transfer, .failure(transfer.exchange.error(.connectionFailed, "libcurl cannot start (\(cause))")))
        }
    }
}
