internal import CWebImageCurl
internal import CWebImageShims
import WebImageCore

// How fast the bytes arrive, and what follows when they do not.
extension CurlTransfer {
    /// The bytes per second that a transfer has to receive while another host waits for room: what the slowest of
    /// networks for mobile phones brings, divided among all transfers.
    static let minimumSpeed = 256

    /// The time for which the transfer may receive nothing.
    private var idleTimeout: Duration {
        max((key.options.idleTimeout ?? configuration.idleTimeout).bounded, .milliseconds(1))
    }

    /// The time at which the transfer has received nothing for too long. Before the request is sent, the time limit for
    /// connecting applies.
    var idleDeadline: ContinuousClock.Instant? {
        guard let handle = exchange.handle else { return nil }
        if let last = exchange.lastArrival { return last + idleTimeout }
        guard handle.isConnected else { return nil }
        return exchange.launchedAt + .microseconds(max(0, handle.offset(CURLINFO_PRETRANSFER_TIME_T))) + idleTimeout
    }

    /// Whether the transfer has received too little for a third of the time for which it may receive nothing. Called
    /// while another host waits for room; the first call begins to measure.
    func isTooSlow(now: ContinuousClock.Instant) -> Bool {
        guard let begin = pace else {
            pace = (now, receivedByteCount)
            return false
        }
        let elapsed = now - begin.since
        guard elapsed >= idleTimeout / 3 else { return false }
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
                "The server sent less than \(Self.minimumSpeed) bytes per second while another host waited",
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
            exchange.request.body == nil, handle.long(CURLINFO_NUM_CONNECTS) == 0
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
