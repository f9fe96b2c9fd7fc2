internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import Glibc
import WebImageCore

// How fast the bytes arrive, and what follows when they do not.
extension CurlTransfer {
    /// The bytes per second that a transfer has to receive while another host waits for room: what the slowest of
    /// networks for mobile phones brings, divided among all transfers.
    static let minimumSpeed = 256

    /// The time for which the transfer may receive nothing.
    var idleTimeout: Duration {
        max((key.options.idleTimeout ?? configuration.idleTimeout).bounded, .milliseconds(1))
    }

    /// Puts a question to the app.
    /// - Parameters:
    ///   - number: Tells the answer from that of an earlier question.
    ///   - use: Takes the answer, on a thread of Swift's concurrency.
    func ask(_ question: AppQuestion, number: UInt64, use: @escaping @Sendable (AppQuestion.Answer) -> Void) {
        let timeout = [question.waitsForUser ? nil : idleTimeout, remainingTime?.bounded].compactMap { $0 }.min()
        phase = .asking(
            Asking(
                question: question,
                number: number,
                deadline: timeout.map { .now + $0 },
                task: Task.detached(priority: priority.taskPriority) { use(await question.ask()) }
            )
        )
    }

    var connectTimeout: Duration {
        let limit = key.options.connectTimeout ?? configuration.connectTimeout
        return operations.first?.request.isQuickAttempt == true ? min(limit, .seconds(3)) : limit
    }

    private var totalTimeout: Duration? { key.options.totalTimeout ?? configuration.totalTimeout }

    /// What is left of the time limit for the whole transfer, redirects included, without the time in the queue; `nil` when
    /// there is no limit.
    var remainingTime: Duration? { totalTimeout.map { $0 - spentTime } }

    /// The time at which the transfer is over or has to be looked at, unless bytes arrive before. libcurl has limits, too, but not for
    /// what it holds back until another transfer has connected to the host.
    var deadline: ContinuousClock.Instant? {
        if case .asking(let asking) = phase { return asking.deadline }
        let now = ContinuousClock.now
        let separation = isHeldBack ? exchange.launchedAt + patience : now
        let limits = [idleDeadline, remainingTime.map { now + $0.bounded }, separation > now ? separation : nil]
        return limits.compactMap { $0 }.min()
    }

    /// The time at which the transfer has received nothing for too long, or has been without a connection for too long.
    private var idleDeadline: ContinuousClock.Instant? {
        guard exchange.handle != nil else { return nil }
        guard let arrival else { return (exchange.connectStart ?? exchange.launchedAt) + connectTimeout.bounded }
        return max(arrival, exchange.socketActivity ?? arrival) + idleTimeout
    }

    /// How long the transfer waits to share the connection that another one begins to open.
    private var patience: Duration { min(connectTimeout / 4, .seconds(1)) }

    /// Whether libcurl has not begun to connect, which it does not tell, nor to look up the host.
    private var isHeldBack: Bool {
        guard let handle = exchange.handle, exchange.isSecure, !exchange.isOnFreshConnection else { return false }
        return arrival == nil && !handle.hasAddress
    }

    /// Whether the transfer has waited for too long for the connection of another one.
    func needsOwnConnection(now: ContinuousClock.Instant) -> Bool {
        isHeldBack && exchange.launchedAt + patience <= now
    }

    /// The time at which libcurl handed bytes on last, or else at which the request was sent; `nil` before that.
    private var arrival: ContinuousClock.Instant? {
        guard let handle = exchange.handle else { return nil }
        if let last = exchange.lastArrival { return last }
        guard handle.isConnected else { return nil }
        return exchange.launchedAt + .microseconds(max(0, handle.offset(CURLINFO_PRETRANSFER_TIME_T)))
    }

    /// The time that the slowest transfer takes for a record of TLS, which has up to 16 KiB and is handed on as a whole.
    static let recordTime = Duration.seconds((16 << 10) / minimumSpeed)

    /// Whether the transfer has taken too long, or has received nothing for too long, and its socket neither. A socket that is silent
    /// is shut down: it may belong to a network that is gone, and other transfers would wait for it one after the other.
    ///
    /// The socket is asked only now, since most transfers never get here. It may receive bytes for other transfers, so its
    /// word counts no longer than a record takes, but while a body is sent.
    func isOverdue(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) -> Bool {
        if case .asking(let asking) = phase { return asking.deadline.map { $0 <= now } ?? false }
        if let remainingTime, remainingTime <= .zero { return true }
        guard let handle = exchange.handle, let idleDeadline, idleDeadline <= now else { return false }
        guard let arrival else { return true }
        let body = exchange.head == nil ? exchange.request.body : nil
        var socket: Int32 = -1
        let silence = gwi_curl_get_socket_silence(multi, handle.easy, body != nil, &socket)
        if .milliseconds(silence) >= idleTimeout, shutdown(socket, Int32(SHUT_RDWR)) == 0 {
            exchange.silentPort = handle.long(CURLINFO_LOCAL_PORT)
        }
        let activity: ContinuousClock.Instant
        if let body {
            let isSent = handle.offset(CURLINFO_SIZE_UPLOAD_T) >= Int64(body.count)
            activity = silence >= 0 ? now - .milliseconds(silence) : isSent ? arrival : now
        } else {
            guard silence >= 0 else { return true }
            activity = min(now - .milliseconds(silence), arrival + max(.zero, Self.recordTime - idleTimeout))
        }
        guard activity + idleTimeout > now else { return true }
        exchange.socketActivity = activity
        return false
    }

    /// The time over which the speed is measured.
    private var speedWindow: Duration {
        exchange.request.url.scheme?.lowercased() == "https" ? max(idleTimeout / 3, Self.recordTime) : idleTimeout / 3
    }

    /// Whether the transfer receives too little, since its first byte, for a third of the time for which it may receive
    /// nothing, or for the time of a record of TLS. Called while another host waits for room; the first call begins to
    /// measure.
    func isTooSlow(now: ContinuousClock.Instant) -> Bool {
        // The idle timeout is for servers that have not answered yet.
        guard exchange.lastArrival != nil else {
            pace = nil
            return false
        }
        guard let begin = pace else {
            pace = (now, receivedByteCount)
            return false
        }
        let elapsed = now - begin.since
        guard elapsed >= speedWindow else { return false }
        let enough = elapsed / .seconds(1) * Double(Self.minimumSpeed)
        if Double(receivedByteCount - begin.byteCount) < enough { return true }
        pace = (now, receivedByteCount)
        return false
    }

    /// The error of a transfer that has reached one of its limits of time.
    var tooSlow: ImageError {
        if case .asking(let asking) = phase { return unanswered(asking.question) }
        if let totalTimeout, let remainingTime, remainingTime <= .zero {
            return error(.timedOut, "The request timed out (it took longer than \(totalTimeout))")
        }
        guard arrival != nil else {
            return error(.timedOut, "The request timed out (there was no connection after \(connectTimeout))")
        }
        guard pace == nil else {
            return error(
                .timedOut,
                "The server sent less than \(Magnitude.bytes(Self.minimumSpeed)) per second while another host waited",
                remedy:
                    "Load the image again later, or raise maximumConcurrentTransfers in the downloader's configuration."
            )
        }
        return error(.timedOut, "The request timed out (nothing arrived for \(idleTimeout))")
    }

    private var canBeRepeated: Bool {
        !exchange.isOnFreshConnection && exchange.request.method == "GET" && exchange.request.body == nil
    }

    /// Whether the exchange waits for a connection that is shut down.
    func waits(forPort port: Int) -> Bool {
        guard let handle = exchange.handle, canBeRepeated, exchange.head == nil, exchange.silentPort == nil else {
            return false
        }
        return handle.long(CURLINFO_LOCAL_PORT) == port
    }

    /// Whether the exchange failed because the server had closed, or written to, a connection that was kept open, as
    /// servers do with status 408 (RFC 9110, 15.5.9).
    func needsFreshConnection(after code: CURLcode) -> Bool {
        guard let handle = exchange.handle, canBeRepeated, handle.long(CURLINFO_NUM_CONNECTS) == 0,
            !wasRefusedWithoutTLS(code)
        else { return false }
        switch code {
        case CURLE_OK: return handle.status == 408
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_GOT_NOTHING, CURLE_RECV_ERROR,
            CURLE_SEND_ERROR:
            return exchange.head == nil
        default: return false
        }
    }
}
