internal import CWebImageCurl
import WebImageCore

// The deadlines of transfers.
extension CurlThread {
    /// The transfers that libcurl performs.
    var running: some Collection<CurlTransfer> { active.values.filter { $0.exchange.handle != nil } }

    /// The longest time to wait for an event, in milliseconds.
    var pollTimeout: Int32 {
        let now = ContinuousClock.now
        let rest = transfers.isEmpty ? commands.idleTime : .seconds(60)
        let check = now + (queue.starvation() == nil ? rest : .milliseconds(500))
        let deadlines = active.values.map(\.deadline) + [queue.nextStart, check]
        let first = deadlines.lazy.compactMap { $0 }.min() ?? now
        return max(1, (first - now).timeoutMilliseconds.boundedSum(1))
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
    func repeatExchange(of transfer: CurlTransfer, since start: ContinuousClock.Instant = .now) {
        let old: Exchange = transfer.exchange
        old.handle.map(remove)
        transfer.exchange = Exchange(old.request, of: transfer, connectStart: start)
        launch(transfer, through: old.request.proxy)
    }
}
