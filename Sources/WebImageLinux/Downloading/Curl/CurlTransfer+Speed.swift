internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
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

    /// The time for which the app may not answer a question; `nil` when there is no limit.
    func timeout(of question: AppQuestion) -> Duration? {
        if question.waitsForUser { return remainingTime?.bounded }
        return min(idleTimeout, remainingTime ?? idleTimeout)
    }

    /// The time at which the transfer has received nothing for too long. Before the request is sent, the time limit for
    /// connecting applies.
    var idleDeadline: ContinuousClock.Instant? {
        arrival.map { max($0, exchange.socketActivity ?? $0) + idleTimeout }
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

    /// Whether the transfer has received nothing for too long, and its socket neither.
    ///
    /// The socket is asked only now, since most transfers never get here. It may receive bytes for other transfers, so its
    /// word counts no longer than a record takes, but while a body is sent.
    func isIdle(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) -> Bool {
        guard let handle = exchange.handle, let arrival, let idleDeadline, idleDeadline <= now else { return false }
        let body = exchange.head == nil ? exchange.request.body : nil
        let silence = gwi_curl_get_socket_silence(multi, handle.easy, body != nil)
        let activity: ContinuousClock.Instant
        if let body {
            let isSent = handle.offset(CURLINFO_SIZE_UPLOAD_T) >= Int64(body.count)
            activity = silence >= 0 ? now - .milliseconds(silence) : isSent ? arrival : now
        } else {
            guard silence >= 0 else { return true }
            activity = min(now - .milliseconds(silence), arrival + max(.zero, Self.recordTime - idleTimeout))
        }
        guard activity + idleTimeout > now else { return true }
        noteSocketActivity(at: activity)
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

    /// The error of a transfer that is ended because of its speed.
    var tooSlow: ImageError {
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

    /// Whether the exchange failed because the server had closed, or written to, a connection that was kept open, as
    /// servers do with status 408 (RFC 9110, 15.5.9).
    func needsFreshConnection(after code: CURLcode) -> Bool {
        guard let handle = exchange.handle, !exchange.isOnFreshConnection, exchange.request.method == "GET",
            exchange.request.body == nil, handle.long(CURLINFO_NUM_CONNECTS) == 0, !wasRefusedWithoutTLS(code)
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
