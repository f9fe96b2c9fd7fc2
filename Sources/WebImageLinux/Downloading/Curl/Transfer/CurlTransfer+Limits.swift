import WebImageCore

// Limits of the time that a transfer may take.
extension CurlTransfer {
    /// The end of the time limit for the whole transfer, including redirects but not the time in the queue.
    var totalDeadline: ContinuousClock.Instant? {
        exchange.request.totalTimeout.map { createdAt + waitingTime + $0.bounded }
    }

    /// The time at which the transfer is over or must be checked, unless bytes arrive before. libcurl has time limits
    /// as well, but none for a transfer that it holds back until another one has connected to the host.
    var deadline: ContinuousClock.Instant? {
        if case .asking(let question, _) = phase { return question.deadline }
        let limits = [exchange.idleDeadline, totalDeadline, exchange.separation.flatMap { $0 > .now ? $0 : nil }]
        return limits.compactMap { $0 }.min()
    }

    /// Whether the app has not answered in time, or the transfer has taken too long, or neither the transfer nor its
    /// socket has received anything for too long.
    func isOverdue(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) -> Bool {
        if case .asking(let question, _) = phase { return isOver(question.deadline, now: now) }
        if isOver(totalDeadline, now: now) { return true }
        guard isOver(exchange.idleDeadline, now: now) else { return false }
        exchange.askSocket(multi, now: now)
        return isOver(exchange.idleDeadline, now: now)
    }

    private func isOver(_ deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// The error of a transfer that has reached one of its time limits.
    var tooSlow: ImageError {
        if case .asking(let question, _) = phase { return question.silence }
        let limit = isOver(totalDeadline, now: .now) ? exchange.request.totalTimeout : nil
        guard exchange.pace == nil || exchange.arrival == nil || limit != nil else {
            let speed = Magnitude.bytes(Exchange.minimumSpeed)
            let reason = "The server sent less than \(speed) per second while another server waited"
            let place = "maximumConcurrentTransfers in the downloader's configuration"
            return exchange.error(.timedOut, reason, remedy: "Load the image again later, or raise \(place).")
        }
        let cause =
            if let limit {
                "it took longer than \(limit)"
            } else if exchange.arrival == nil {
                "there was no connection after \(exchange.connectTimeout)"
            } else {
                "nothing arrived for \(exchange.request.idleTimeout)"
            }
        return exchange.error(.timedOut, "The request timed out (\(cause))")
    }
}
