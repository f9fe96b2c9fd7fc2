internal import CWebImageCurl
internal import CWebImageShims
import Glibc
import WebImageCore

// The connection of an exchange, as far as libcurl reports it.
extension Exchange {
    /// The time at which libcurl last delivered bytes, or else at which the request was sent; `nil` before that.
    var arrival: ContinuousClock.Instant? {
        guard let handle else { return nil }
        if let lastArrival { return lastArrival }
        guard handle.isConnected else { return nil }
        return launchedAt + .microseconds(max(0, handle.offset(CURLINFO_PRETRANSFER_TIME_T)))
    }

    /// The time at which the exchange has received nothing, or been without a connection, for too long.
    func idleDeadline(connectTimeout: Duration) -> ContinuousClock.Instant? {
        guard handle != nil else { return nil }
        guard let arrival else {
            guard case .fresh(let start?) = connection else { return launchedAt + connectTimeout.bounded }
            return start + connectTimeout.bounded
        }
        guard case .active(let time) = socketState else { return arrival + request.idleTimeout }
        return max(arrival, time) + request.idleTimeout
    }

    /// The time at which the exchange stops waiting for the connection that another one is opening. libcurl does not
    /// report whether it has begun to connect; if it has not looked up the host, it has not.
    func separation(connectTimeout: Duration) -> ContinuousClock.Instant? {
        guard case .any = connection, request.isSecure, arrival == nil, handle?.hasAddress == false else { return nil }
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
            socketState = .shutDown(port: handle.long(CURLINFO_LOCAL_PORT))
        } else if let sentBody {
            let isSent = handle.offset(CURLINFO_SIZE_UPLOAD_T) >= Int64(sentBody.count)
            socketState = .active(lastActivity ?? (isSent ? arrival : now))
        } else if let lastActivity {
            let limit = arrival + max(.zero, CurlTransfer.recordTime - request.idleTimeout)
            socketState = .active(min(lastActivity, limit))
        }
    }

    /// Whether libcurl has refused, before connecting, an exchange that requires TLS but would not use it.
    func wasRefusedWithoutTLS(_ code: CURLcode) -> Bool {
        code == CURLE_UNSUPPORTED_PROTOCOL && request.requiresTLS && handle?.isConnected == false
    }

    private var canBeRepeated: Bool {
        guard case .any = connection else { return false }
        return request.message.method == "GET" && request.message.body == nil
    }

    /// Whether the exchange waits for a connection that was shut down.
    func waits(forPort port: Int) -> Bool {
        guard let handle, canBeRepeated, head == nil else { return false }
        if case .shutDown = socketState { return false }
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
