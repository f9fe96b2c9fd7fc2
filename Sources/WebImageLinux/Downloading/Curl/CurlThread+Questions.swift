import FoundationEssentials
import WebImageCore

// Transfers that wait for the app. They have no place in the queue, so that nothing waits for them.
extension CurlThread {
    /// A transfer whose question is put to the app.
    struct Asking {
        let transfer: CurlTransfer
        let question: AppQuestion
        /// Tells the answer from that of an earlier question of the transfer.
        let number: UInt64
        /// When the transfer waits no longer.
        let deadline: ContinuousClock.Instant
        /// Runs the closure of the app; `nil` when another transfer asks the same.
        var task: Task<Void, Never>?
    }

    /// Puts a question of a transfer to the app.
    func ask(_ question: AppQuestion, for transfer: CurlTransfer) {
        leaveQueue(transfer)
        if let space = question.space, let known = accepted.credentials[space],
            known != transfer.exchange.credentials[space]
        {
            // Another transfer has got a credential meanwhile.
            return goOn(transfer, with: .credential(known, space), to: question)
        }
        askings[transfer.number] = Asking(
            transfer: transfer,
            question: question,
            number: serial.next(),
            deadline: .now + transfer.timeout(of: question)
        )
        let isAsked = question.space != nil && askings.values.contains { $0.asks(question) && $0.task != nil }
        if !isAsked { startAsking(transfer.number) }
    }

    private func startAsking(_ transfer: TransferNumber) {
        guard let asking = askings[transfer] else { return }
        let (commands, question, number) = (commands, asking.question, asking.number)
        askings[transfer]?.task = Task.detached(priority: asking.transfer.priority.taskPriority) {
            commands.post(.useAnswer(transfer, number, await question.ask()))
        }
    }

    /// Takes an answer of the app, for all transfers that have asked the same.
    func use(_ answer: AppQuestion.Answer, for number: UInt64, of transfer: TransferNumber) {
        guard let first = askings[transfer], first.number == number else { return }
        let others = askings.values.filter { $0.task == nil && $0.asks(first.question) }
        for asking in [first] + others {
            askings[asking.transfer.number] = nil
            goOn(asking.transfer, with: answer, to: asking.question)
        }
    }

    private func goOn(_ transfer: CurlTransfer, with answer: AppQuestion.Answer, to question: AppQuestion) {
        switch transfer.goOn(with: answer, to: question) {
        case .nextExchange: requeue(transfer)
        case let outcome: proceed(transfer, outcome)
        }
    }

    /// Ends the question of a transfer that ends. Another transfer that waits for the same answer asks from now on.
    func stopAsking(_ transfer: CurlTransfer) {
        guard !askings.isEmpty, let asking = askings.removeValue(forKey: transfer.number), let task = asking.task else {
            return
        }
        task.cancel()
        guard asking.question.space != nil else { return }
        if let next = askings.first(where: { $0.value.asks(asking.question) }) { startAsking(next.key) }
    }

    /// Ends the transfers for which the app has not answered in time.
    /// - Returns: Whether there were any.
    func endUnansweredTransfers() -> Bool {
        guard !askings.isEmpty else { return false }
        let now = ContinuousClock.now
        let late = askings.values.filter { $0.deadline <= now }
        for asking in late { finish(asking.transfer, .failure(asking.transfer.unanswered(asking.question))) }
        return !late.isEmpty
    }
}

extension CurlThread.Asking {
    /// Whether this is about the same server or proxy as another question.
    func asks(_ other: AppQuestion) -> Bool { question.space != nil && question.space == other.space }
}
