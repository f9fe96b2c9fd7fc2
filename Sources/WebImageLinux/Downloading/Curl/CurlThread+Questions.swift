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
        /// When the transfer waits no longer; `nil` when it waits for a user, without a time limit of the load.
        let deadline: ContinuousClock.Instant?
        /// Runs the closure of the app.
        let task: Task<Void, Never>
    }

    /// Puts a question of a transfer to the app.
    func ask(_ question: AppQuestion, for transfer: CurlTransfer) {
        leaveQueue(transfer)
        let (commands, transferNumber, number) = (commands, transfer.number, serial.next())
        askings[transferNumber] = Asking(
            transfer: transfer,
            question: question,
            number: number,
            deadline: transfer.timeout(of: question).map { .now + $0 },
            task: Task.detached(priority: transfer.priority.taskPriority) {
                commands.post(.useAnswer(transferNumber, number, await question.ask()))
            }
        )
    }

    /// Takes an answer of the app.
    func use(_ answer: AppQuestion.Answer, for number: UInt64, of transferNumber: TransferNumber) {
        guard let asking = askings[transferNumber], asking.number == number else { return }
        askings[transferNumber] = nil
        let transfer = asking.transfer
        switch transfer.goOn(with: answer, to: asking.question) {
        case .nextExchange: requeue(transfer)
        case let outcome: proceed(transfer, outcome)
        }
    }

    /// Ends the question of a transfer that ends.
    func stopAsking(_ transfer: CurlTransfer) {
        askings.removeValue(forKey: transfer.number)?.task.cancel()
    }

    /// Ends the transfers for which the app has not answered in time.
    /// - Returns: Whether there were any.
    func endUnansweredTransfers() -> Bool {
        guard !askings.isEmpty else { return false }
        let now = ContinuousClock.now
        let late = askings.values.filter { asking in asking.deadline.map { $0 <= now } ?? false }
        for asking in late { finish(asking.transfer, .failure(asking.transfer.unanswered(asking.question))) }
        return !late.isEmpty
    }
}
