internal import CWebImageCurl
internal import CWebImageShims
import Glibc
import WebImageCore

// The connection of an exchange, as far as libcurl reports it.
extension Exchange {
    /// The bytes per second that a transfer must receive while another server waits for room. This is the speed of the
    /// slowest mobile networks, divided among all transfers.
    static let minimumSpeed = 256
    /// The time that the slowest transfer needs for a TLS record, which has up to 16 KiB and is delivered as a whole.
    private static let recordTime = Duration.seconds((16 << 10) / minimumSpeed)

    /// The time at which libcurl last delivered bytes, or else at which the request was sent; `nil` before that.
    var arrival: ContinuousClock.Instant? {
        guard let handle else { return nil }
        if let lastArrival { return lastArrival }
        guard handle.isConnected else { return nil }
        return launchedAt + .microseconds(max(0, handle.offset(CURLINFO_PRETRANSFER_TIME_T)))
    }

    /// The time at which the exchange has received nothing, or been without a connection, for too long.
    var idleDeadline: ContinuousClock.Instant? {
        guard handle != nil else { return nil }
        guard let arrival else { return (connectStart ?? launchedAt) + connectTimeout.bounded }
        return max(arrival, lastSocketActivity ?? arrival) + request.idleTimeout
    }

    /// The time at which the exchange stops waiting for the connection that another one is opening. libcurl does not
    /// report whether it has begun to connect; if it has not looked up the host, it has not.
    var separation: ContinuousClock.Instant? {
        guard connectStart == nil, request.isSecure, arrival == nil, handle?.hasAddress == false else { return nil }
        return launchedAt + min(connectTimeout / 4, .seconds(1))
    }

    /// Checks the socket of an exchange that has received nothing for too long. A silent socket is shut down: it may
    /// belong to a network that is gone, and other transfers would wait for it one after another.
    ///
    /// The socket is checked only now, because most transfers never get here. It may be shared (HTTP/2), so its
    /// activity counts for at most the time of one TLS record, except while a body is being sent.
    func askSocket(_ multi: UnsafeMutableRawPointer, now: ContinuousClock.Instant) {
        guard let handle, let arrival else { return }
        let sentBody = head == nil ? request.message.body : nil
        var socket: Int32 = -1
        let silence = gwi_curl_get_socket_silence(multi, handle.easy, sentBody != nil, &socket)
        let lastActivity = silence >= 0 ? now - .milliseconds(silence) : nil
        if .milliseconds(silence) >= request.idleTimeout, shutdown(socket, Int32(SHUT_RDWR)) == 0 {
            shutDownPort = handle.long(CURLINFO_LOCAL_PORT)
        } else if let sentBody {
            let isSent = handle.offset(CURLINFO_SIZE_UPLOAD_T) >= Int64(sentBody.count)
            lastSocketActivity = lastActivity ?? (isSent ? arrival : now)
        } else if let lastActivity {
            let limit = arrival + max(.zero, Self.recordTime - request.idleTimeout)
            lastSocketActivity = min(lastActivity, limit)
        }
    }

    /// Whether the exchange has received too little after its first byte, over a third of the idle timeout or the time
    /// of a TLS record. It is called while another server waits for room. The first call starts the measurement.
    func isTooSlow(now: ContinuousClock.Instant) -> Bool {
        // The idle timeout covers servers that have not answered yet.
        guard lastArrival != nil else {
            pace = nil
            return false
        }
        guard let begin = pace else {
            pace = (now, headByteCount + bodyByteCount)
            return false
        }
        let (elapsed, window) = (now - begin.since, request.idleTimeout / 3)
        guard elapsed >= (request.isHTTPS ? max(window, Self.recordTime) : window) else { return false }
        let enough = elapsed / .seconds(1) * Double(Self.minimumSpeed)
        let byteCount = headByteCount + bodyByteCount
        if Double(byteCount - begin.byteCount) < enough { return true }
        pace = (now, byteCount)
        return false
    }

    /// Whether libcurl has refused, before connecting, an exchange that requires TLS but would not use it.
    func wasRefusedWithoutTLS(_ code: CURLcode) -> Bool {
        code == CURLE_UNSUPPORTED_PROTOCOL && request.requiresTLS && handle?.isConnected == false
    }

    private var canBeRepeated: Bool {
        connectStart == nil && request.message.method == "GET" && request.message.body == nil
    }

    /// Whether the exchange waits for a connection that was shut down.
    func waits(forPort port: Int) -> Bool {
        guard let handle, canBeRepeated, head == nil, shutDownPort == nil else { return false }
        return handle.long(CURLINFO_LOCAL_PORT) == port
    }

    /// Whether the exchange failed because the server had closed, or written to, a connection that was kept open, as
    /// servers do with status 408 (RFC 9110, 15.5.9).
    func needsFreshConnection(after code: CURLcode) -> Bool {
        guard let handle, canBeRepeated, handle.long(CURLINFO_NUM_CONNECTS) == 0, !wasRefusedWithoutTLS(code) else {
            return false
        }
        switch code {
        case CURLE_OK: return handle.status == 408
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_GOT_NOTHING, CURLE_RECV_ERROR,
            CURLE_SEND_ERROR:
            return head == nil
        default: return false
        }
    }
}
