import FoundationEssentials
import WebImageCore

// Limits of the time that a transfer may take, and of its speed.
extension CurlTransfer {
    /// The bytes per second that a transfer must receive while another host waits for room. This is the speed of the
    /// slowest mobile networks, divided among all transfers.
    static let minimumSpeed = 256
    /// The time that the slowest transfer needs for a TLS record, which has up to 16 KiB and is delivered as a whole.
    static let recordTime = Duration.seconds((16 << 10) / minimumSpeed)

    var connectTimeout: Duration {
        let limit = key.options.connectTimeout ?? exchange.request.configuration.connectTimeout
        return operations.first?.request.isQuickAttempt == true ? min(limit, .seconds(3)) : limit
    }

    /// The end of the time limit for the whole transfer, including redirects but not the time in the queue.
    private var totalDeadline: ContinuousClock.Instant? {
        exchange.request.totalTimeout.map { createdAt + (waitingTime ?? .zero) + $0.bounded }
    }

    private var idleDeadline: ContinuousClock.Instant? { exchange.idleDeadline(connectTimeout: connectTimeout) }

    /// The time at which the transfer is over or must be checked, unless bytes arrive before. libcurl has time limits
    /// as well, but none for a transfer that it holds back until another one has connected to the host.
    var deadline: ContinuousClock.Instant? {
        if case .asking(let asking) = phase { return asking.deadline }
        let separation = exchange.separation(connectTimeout: connectTimeout)
        let limits = [idleDeadline, totalDeadline, separation.flatMap { $0 > .now ? $0 : nil }]
        return limits.compactMap { $0 }.min()
    }

    /// Puts a question to the app.
    /// - Parameters:
    ///   - number: Distinguishes the answer from the answer to an earlier question.
    ///   - use: Receives the answer, on a thread of Swift's concurrency.
    func ask(_ question: AppQuestion, number: UInt64, use: @escaping @Sendable (AppQuestion.Answer) -> Void) {
        let limits = [question.waitsForUser ? nil : .now + exchange.request.idleTimeout, totalDeadline]
        phase = .asking(
            Asking(
                question: question,
                number: number,
                deadline: limits.compactMap { $0 }.min(),
                task: Task.detached(priority: priority.taskPriority) { use(await question.ask()) }
            )
        )
    }

    /// Whether the transfer has waited too long for the connection of another one.
    func needsOwnConnection(now: ContinuousClock.Instant) -> Bool {
        isOver(exchange.separation(connectTimeout: connectTimeout), now: now)
    }

    /// Whether the app has not answered in time, or the transfer has taken too long, or neither the transfer nor its
    /// socket has received anything for too long.
    func isOverdue(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) -> Bool {
        if case .asking(let asking) = phase { return isOver(asking.deadline, now: now) }
        if isOver(totalDeadline, now: now) { return true }
        guard isOver(idleDeadline, now: now) else { return false }
        exchange.askSocket(multi, now: now)
        return isOver(idleDeadline, now: now)
    }

    private func isOver(_ deadline: ContinuousClock.Instant?, now: ContinuousClock.Instant) -> Bool {
        deadline.map { $0 <= now } ?? false
    }

    /// Whether the transfer has received too little after its first byte, over a third of the idle timeout or the time
    /// of a TLS record. It is called while another host waits for room. The first call starts the measurement.
    func isTooSlow(now: ContinuousClock.Instant) -> Bool {
        // The idle timeout covers servers that have not answered yet.
        guard exchange.lastArrival != nil else {
            pace = nil
            return false
        }
        guard let begin = pace else {
            pace = (now, receivedByteCount)
            return false
        }
        let (elapsed, window) = (now - begin.since, exchange.request.idleTimeout / 3)
        guard elapsed >= (exchange.request.isHTTPS ? max(window, Self.recordTime) : window) else { return false }
        let enough = elapsed / .seconds(1) * Double(Self.minimumSpeed)
        if Double(receivedByteCount - begin.byteCount) < enough { return true }
        pace = (now, receivedByteCount)
        return false
    }

    /// The error of a transfer that has reached one of its time limits.
    var tooSlow: ImageError {
        if case .asking(let asking) = phase { return exchange.unanswered(asking.question) }
        let limit = isOver(totalDeadline, now: .now) ? exchange.request.totalTimeout : nil
        guard pace == nil || exchange.arrival == nil || limit != nil else {
            let speed = Magnitude.bytes(Self.minimumSpeed)
            let reason = "The server sent less than \(speed) per second while another host waited"
            let place = "maximumConcurrentTransfers in the downloader's configuration"
            return exchange.error(.timedOut, reason, remedy: "Load the image again later, or raise \(place).")
        }
        let cause =
            if let limit {
                "it took longer than \(limit)"
            } else if exchange.arrival == nil {
                "there was no connection after \(connectTimeout)"
            } else {
                "nothing arrived for \(exchange.request.idleTimeout)"
            }
        return exchange.error(.timedOut, "The request timed out (\(cause))")
    }
}
