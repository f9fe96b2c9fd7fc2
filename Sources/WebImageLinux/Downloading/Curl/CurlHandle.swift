internal import CWebImageCurl
internal import CWebImageShims
import WebImageCore

/// A libcurl easy handle and the memory that libcurl refers to, for one exchange. Only the network thread uses it.
///
/// Handles are not reused: libcurl 7.88 keeps a pointer into the freed header fields of the previous response, and writes there if
/// the next response begins with a folded line. Connections belong to the multi handle, and TLS sessions to the shared state.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var requestHeaders: UnsafeMutablePointer<curl_slist>?

    /// Creates a handle; `nil` if libcurl has no memory for it.
    init?() {
        guard let easy = curl_easy_init() else {
            errorBuffer.deallocate()
            return nil
        }
        self.easy = easy
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        gwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(requestHeaders)
        errorBuffer.deallocate()
    }
}

// Options.
extension CurlHandle {
    func set(_ option: CURLoption, to value: Int) { gwi_curl_set_long(easy, option, value) }

    func set(_ option: CURLoption, to value: String) { gwi_curl_set_string(easy, option, value) }

    func set(_ option: CURLoption, to value: UnsafeMutableRawPointer) { gwi_curl_set_pointer(easy, option, value) }

    /// Sets an option that takes a curl_off_t.
    func setOffset(_ option: CURLoption, to value: Int) { gwi_curl_set_offset(easy, option, curl_off_t(value)) }

    func setCallback(_ option: CURLoption, to function: gwi_curl_data_function) {
        gwi_curl_set_data_function(easy, option, function)
    }

    /// Ends the transfer with CURLE_ABORTED_BY_CALLBACK when it has a connection. libcurl closes the connection unless
    /// transfers share it, and never reuses one of CURLOPT_CONNECT_ONLY.
    func endBeforeRequest() { gwi_curl_end_before_request(easy) }

    /// Sets the header fields of the request. A field with a line break is left out, because the text after the line
    /// break would become another field, or another request.
    func setHeaders(_ fields: [String: String]) {
        curl_slist_free_all(requestHeaders)
        requestHeaders = nil
        for (name, value) in fields where name.isHTTPToken && Self.isSafe(value) {
            // A semicolon marks a field without a value; a colon would remove the field.
            let line = HeaderText.bytes(of: value.isEmpty ? "\(name);" : "\(name): \(value)")
            requestHeaders = curl_slist_append(requestHeaders, line)
        }
        gwi_curl_set_list(easy, CURLOPT_HTTPHEADER, requestHeaders)
    }

    private static func isSafe(_ text: String) -> Bool {
        !text.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 }
    }
}

// Results.
extension CurlHandle {
    /// Whether the host name has been resolved.
    var hasAddress: Bool { offset(CURLINFO_NAMELOOKUP_TIME_T) > 0 }

    /// Whether the last transfer had a connection with a completed handshake.
    ///
    /// A request is sent only then. The times do not tell: the handshake takes 0 on a reused connection, and libcurl
    /// 8.22 also sets the other times at the end of a transfer that found no connection.
    var isConnected: Bool { long(CURLINFO_REQUEST_SIZE) > 0 }

    /// libcurl's message for the last error; empty if there is none.
    var errorMessage: String { String(cString: errorBuffer) }

    /// The status code of the last response; 0 before the first response.
    var status: Int { long(CURLINFO_RESPONSE_CODE) }

    /// The absolute URL that the last response redirects to. libcurl knows it only after the transfer is complete.
    var redirectURL: String? {
        var text: UnsafePointer<CChar>?
        gwi_curl_get_string(easy, CURLINFO_REDIRECT_URL, &text)
        return text.map { String(cString: $0) }
    }

    /// The header fields of the last response by lower-case name, except those of interim responses and trailers. The
    /// values of repeated fields are joined by commas (RFC 9110, 5.3).
    var responseHeaders: [String: String] { headers(from: UInt32(CURLH_HEADER)) }

    /// The status of a proxy's answer to CONNECT; 0 if there is none.
    var proxyStatus: Int { long(CURLINFO_HTTP_CONNECTCODE) }

    /// The header fields of the proxy's answer to CONNECT.
    var proxyHeaders: [String: String] { headers(from: UInt32(CURLH_CONNECT)) }

    private func headers(from origin: UInt32) -> [String: String] {
        var fields: [String: String] = [:]
        let lastRequest: Int32 = -1
        var previous: UnsafeMutablePointer<curl_header>?
        while let header = curl_easy_nextheader(easy, origin, lastRequest, previous) {
            let name = String(cString: header.pointee.name).lowercased()
            let text = HeaderText.text(of: header.pointee.value)
            // libcurl 7.88 leaves the carriage return of an empty field.
            let value = text == "\r" ? "" : text
            fields[name] = fields[name].map { "\($0), \(value)" } ?? value
            previous = header
        }
        return fields
    }

    /// The times and counts of the last transfer.
    var metrics: TransferMetrics {
        func time(_ info: CURLINFO) -> Duration { .microseconds(offset(info)) }
        var metrics = TransferMetrics()
        metrics.nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.connect = max(metrics.nameLookup, time(CURLINFO_CONNECT_TIME_T))
        metrics.secureConnect = max(metrics.connect, time(CURLINFO_APPCONNECT_TIME_T))
        metrics.firstByte = max(metrics.secureConnect, time(CURLINFO_STARTTRANSFER_TIME_T))
        metrics.total = max(metrics.firstByte, time(CURLINFO_TOTAL_TIME_T))
        metrics.receivedByteCount = offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.isReusedConnection = long(CURLINFO_NUM_CONNECTS) == 0
        metrics.protocolName =
            switch long(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): "HTTP/1.0"
            case Int(CURL_HTTP_VERSION_1_1): "HTTP/1.1"
            case Int(CURL_HTTP_VERSION_2_0): "HTTP/2"
            case Int(CURL_HTTP_VERSION_3): "HTTP/3"
            default: ""
            }
        return metrics
    }

    func long(_ info: CURLINFO) -> Int {
        var value = 0
        gwi_curl_get_long(easy, info, &value)
        return value
    }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        gwi_curl_get_offset(easy, info, &value)
        return Int64(value)
    }
}

/// The state that transfers share besides connections: TLS sessions, the hosts that require TLS (HSTS, RFC 6797) and,
/// for requests that handle them, cookies. Only the network thread uses it. It stays in memory as long as the downloader.
final class CurlSharedState {
    // libcurl gives the cookies of a share to every transfer that uses it, so there is a second share.
    private let plain: UnsafeMutableRawPointer
    private let withCookies: UnsafeMutableRawPointer

    init() {
        plain = curl_share_init()!
        withCookies = curl_share_init()!
        for share in [plain, withCookies] {
            gwi_curl_share_set_data(share, CURL_LOCK_DATA_HSTS)
            gwi_curl_share_set_data(share, CURL_LOCK_DATA_SSL_SESSION)
        }
        gwi_curl_share_set_data(withCookies, CURL_LOCK_DATA_COOKIE)
    }

    deinit {
        curl_share_cleanup(plain)
        curl_share_cleanup(withCookies)
    }

    func share(for options: NetworkOptions) -> UnsafeMutableRawPointer {
        options.handlesCookies ? withCookies : plain
    }
}
