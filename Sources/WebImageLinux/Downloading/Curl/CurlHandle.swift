internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// A libcurl easy handle and the memory that libcurl refers to, for one exchange. Only the network thread uses it.
///
/// Handles are not reused: libcurl 7.88 keeps a pointer into the freed header fields of the previous response, and writes there if
/// the next response begins with a folded line. Connections belong to the multi handle, and TLS sessions to the shared state.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    private let errorBuffer = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
    private var requestHeaders: UnsafeMutablePointer<curl_slist>?

    /// Creates the handle of a request; `nil` if libcurl has no memory for it.
    /// - Parameter priority: The priority at the launch of the exchange.
    init?(for request: TransferRequest, _ priority: ImagePriority, sharing state: CurlSharedState) {
        guard let easy = curl_easy_init() else {
            errorBuffer.deallocate()
            return nil
        }
        self.easy = easy
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        gwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer)
        set(CURLOPT_SHARE, to: state.share(for: request.key.options))
        configure(for: request, priority)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(requestHeaders)
        errorBuffer.deallocate()
    }
}

// The options for a request.
extension CurlHandle {
    private func configure(for request: TransferRequest, _ priority: ImagePriority) {
        set(CURLOPT_URL, to: request.message.url.absoluteString)
        set(CURLOPT_NOSIGNAL, to: 1)
        // Otherwise libcurl would wait for getaddrinfo(3) when it ends a transfer, and so would all other transfers.
        set(CURLOPT_QUICK_EXIT, to: 1)
        // Eight times the default size means fewer system calls and callbacks.
        set(CURLOPT_BUFFERSIZE, to: 128 << 10)
        setOffset(CURLOPT_MAXFILESIZE_LARGE, to: request.configuration.maximumByteCount)
        // Routers drop a connection that is silent for some minutes.
        set(CURLOPT_TCP_KEEPALIVE, to: 1)
        // The transfer ends with CURLE_ABORTED_BY_CALLBACK when it has a connection. libcurl closes the connection unless
        // transfers share it, and never reuses one of CURLOPT_CONNECT_ONLY.
        if request.key.connectsOnly { gwi_curl_end_before_request(easy) }
        setConnection(of: request)
        if let (credential, schemes) = request.credential {
            // A single scheme needs no challenge.
            set(CURLOPT_HTTPAUTH, to: schemes)
            set(CURLOPT_USERNAME, to: credential.user)
            set(CURLOPT_PASSWORD, to: credential.password)
        }
        setProxy(of: request)
        setMessage(of: request, priority)
    }

    private func setConnection(of request: TransferRequest) {
        let pins = request.configuration.pinnedKeys(for: request.message.url)
        // libcurl checks this after it has turned the http URL of an HSTS host into https.
        set(CURLOPT_PROTOCOLS_STR, to: request.requiresTLS ? "https" : "http,https")
        // The library follows redirects itself, because libcurl would send the headers for one host to another.
        set(CURLOPT_FOLLOWLOCATION, to: 0)
        // With HTTP/3, libcurl starts QUIC and soon after TCP for a new connection, and keeps the one that is established first.
        // A host whose keys are pinned is asked over TCP, for which all versions of libcurl compare keys.
        let usesHTTP3 = request.configuration.usesHTTP3 && ImageDownloader.supportsHTTP3 && pins == nil
        set(CURLOPT_HTTP_VERSION, to: Int(usesHTTP3 ? CURL_HTTP_VERSION_3 : CURL_HTTP_VERSION_2TLS))
        // A second request to a host waits until it is known whether it can share the first connection. The handshake of TLS
        // tells. Without TLS only the first response would, and HTTP/2 is not used there anyway.
        set(CURLOPT_PIPEWAIT, to: request.isHTTPS ? 1 : 0)
        // CURLHSTS_ENABLE, a macro that Swift does not import.
        set(CURLOPT_HSTS_CTRL, to: 1)
        if request.key.options.allowsInvalidCertificates {
            set(CURLOPT_SSL_VERIFYPEER, to: 0)
            set(CURLOPT_SSL_VERIFYHOST, to: 0)
        }
        if let file = request.configuration.certificateAuthorityFile { set(CURLOPT_CAINFO, to: file) }
        if let certificate = request.configuration.clientCertificate {
            set(CURLOPT_SSLCERT, to: certificate.file)
            set(CURLOPT_SSLKEY, to: certificate.keyFile ?? certificate.file)
            if let password = certificate.password { set(CURLOPT_KEYPASSWD, to: password) }
        }
        if let pins {
            // If the list is empty, no certificate matches.
            let keys = pins.isEmpty ? [""] : pins.sorted()
            set(CURLOPT_PINNEDPUBLICKEY, to: keys.map { "sha256//\($0)" }.joined(separator: ";"))
        }
        // An empty file name turns the cookie engine on without reading a file.
        if request.key.options.handlesCookies { set(CURLOPT_COOKIEFILE, to: "") }
    }

    private func setProxy(of request: TransferRequest) {
        let answers = request.answers
        let answer = answers.isEmpty ? nil : answers[.proxy(request.proxy.name(for: request.message.url))]
        switch request.proxy {
        case .environment: break
        case .direct: return set(CURLOPT_PROXY, to: "")
        // A user in the address would take precedence over the answer of the app.
        case .proxy(let address), .fixed(let address):
            set(CURLOPT_PROXY, to: answer == nil ? address : CurlAddress.withoutUser(address))
        }
        // Otherwise libcurl would apply no_proxy.
        if case .fixed = request.proxy { set(CURLOPT_NOPROXY, to: "") }
        guard let answer else { return }
        set(CURLOPT_PROXYAUTH, to: answer.scheme.rawValue)
        set(CURLOPT_PROXYUSERNAME, to: answer.credential.user)
        set(CURLOPT_PROXYPASSWORD, to: answer.credential.password)
    }

    private func setMessage(of request: TransferRequest, _ priority: ImagePriority) {
        let message = request.message
        if let body = message.body {
            setOffset(CURLOPT_POSTFIELDSIZE_LARGE, to: body.count)
            // libcurl copies the body.
            _ = body.withUnsafeBytes { gwi_curl_copy_body(easy, $0.baseAddress) }
        }
        if message.method != "GET" || message.body != nil { set(CURLOPT_CUSTOMREQUEST, to: message.method) }
        var fields = message.headers
        if let (body, condition) = request.part {
            fields = fields.replacingFields(with: ["Range": "bytes=\(body.data.count)-", "If-Range": condition])
            for name in fields.keys where name.lowercased() == "accept-encoding" { fields[name] = nil }
        } else if request.isDecodedByCurl {
            // The app's field replaces libcurl's, and libcurl decodes the codings that it knows.
            set(CURLOPT_ACCEPT_ENCODING, to: "")
        } else {
            fields["Accept-Encoding"] = ContentDecoder.accepted
        }
        if fields.field("priority") == nil {
            // RFC 9218, 4: from 0, the most urgent, to 7. An image is useful before it is complete.
            fields["Priority"] = "u=\([6, 5, 3, 2, 1][priority.rank]), i"
        }
        let (etag, date) = request.validators
        if let etag { fields = fields.replacingFields(with: ["If-None-Match": etag]) }
        if let date { fields = fields.replacingFields(with: ["If-Modified-Since": date]) }
        setHeaders(fields)
    }
}

// Setting options.
extension CurlHandle {
    func set(_ option: CURLoption, to value: Int) { gwi_curl_set_long(easy, option, value) }

    func set(_ option: CURLoption, to value: String) { gwi_curl_set_string(easy, option, value) }

    func set(_ option: CURLoption, to value: UnsafeMutableRawPointer) { gwi_curl_set_pointer(easy, option, value) }

    /// Sets an option that takes a curl_off_t.
    private func setOffset(_ option: CURLoption, to value: Int) { gwi_curl_set_offset(easy, option, curl_off_t(value)) }

    func setCallback(_ option: CURLoption, to function: gwi_curl_data_function) {
        gwi_curl_set_data_function(easy, option, function)
    }

    /// Sets the header fields of the request. A field with a line break is left out, because the text after the line
    /// break would become another field, or another request.
    private func setHeaders(_ fields: [String: String]) {
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

    fileprivate func share(for options: NetworkOptions) -> UnsafeMutableRawPointer {
        options.handlesCookies ? withCookies : plain
    }
}
