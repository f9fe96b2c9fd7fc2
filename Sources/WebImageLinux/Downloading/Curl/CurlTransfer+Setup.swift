internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// What libcurl is told of a request.
extension CurlTransfer {
    /// - Parameter share: What connections of this kind learn and keep: cookies, and hosts that want TLS.
    func configure(_ easy: UnsafeMutableRawPointer, share: UnsafeMutableRawPointer) {
        attach(easy)
        let request = request
        gwi_curl_set_string(easy, CURLOPT_URL, request.url.absoluteString)
        gwi_curl_set_pointer(easy, CURLOPT_SHARE, share)
        gwi_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, message)
        gwi_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        // Eight times the default: fewer calls to the kernel, and to here.
        gwi_curl_set_long(easy, CURLOPT_BUFFERSIZE, 128 << 10)
        setCallbacks(easy)
        setProtocol(easy)
        setLimits(easy)
        setSecurity(easy)
        setProxy(easy)
        setRequest(easy, request)
    }

    func setWeight() {
        guard let easy else { return }
        // RFC 7540, 5.3.2: 1 to 256.
        gwi_curl_set_long(easy, CURLOPT_STREAM_WEIGHT, [4, 8, 16, 64, 256][priority.rawValue])
    }

    private func setCallbacks(_ easy: UnsafeMutableRawPointer) {
        let context = Unmanaged.passUnretained(self).toOpaque()
        gwi_curl_set_pointer(easy, CURLOPT_WRITEDATA, context)
        gwi_curl_set_data_function(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            // Any number but that of the bytes ends the transfer; with none to take, 0 would be that number.
            guard count > 0 else { return 0 }
            return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
        gwi_curl_set_pointer(easy, CURLOPT_HEADERDATA, context)
        gwi_curl_set_data_function(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            transfer.receive(headerLine: UnsafeRawBufferPointer(start: bytes, count: size * count))
            return size * count
        }
    }

    private func setProtocol(_ easy: UnsafeMutableRawPointer) {
        gwi_curl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // Redirects are followed by the library: libcurl would send the headers meant for one host to another.
        gwi_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        gwi_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        // A second request to a host waits to learn whether it can share the connection of the first. Over TLS the
        // handshake tells; without, only the first response would, and HTTP/2 is not to be had anyway.
        gwi_curl_set_long(easy, CURLOPT_PIPEWAIT, request.url.scheme?.lowercased() == "https" ? 1 : 0)
        gwi_curl_set_long(easy, CURLOPT_HSTS_CTRL, CurlMacro.hstsEnable)
        setWeight()
    }

    private func setLimits(_ easy: UnsafeMutableRawPointer) {
        let options = key.options
        let connect = options.connectTimeout ?? configuration.connectTimeout
        let idle = options.idleTimeout ?? configuration.idleTimeout
        let total = options.totalTimeout ?? configuration.totalTimeout
        gwi_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, connect.milliseconds))
        gwi_curl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, 1)
        gwi_curl_set_long(easy, CURLOPT_LOW_SPEED_TIME, max(1, idle.milliseconds / 1000))
        gwi_curl_set_long(easy, CURLOPT_TIMEOUT_MS, total.map { max(1, $0.milliseconds) } ?? 0)
        gwi_curl_set_offset(easy, CURLOPT_MAXFILESIZE_LARGE, curl_off_t(configuration.maximumByteCount))
    }

    private func setSecurity(_ easy: UnsafeMutableRawPointer) {
        if key.options.allowsInvalidCertificates {
            gwi_curl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0)
            gwi_curl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0)
        }
        if let file = configuration.certificateAuthorityFile { gwi_curl_set_string(easy, CURLOPT_CAINFO, file) }
        if let certificate = configuration.clientCertificate {
            gwi_curl_set_string(easy, CURLOPT_SSLCERT, certificate.file)
            gwi_curl_set_string(easy, CURLOPT_SSLKEY, certificate.keyFile ?? certificate.file)
            if let password = certificate.password { gwi_curl_set_string(easy, CURLOPT_KEYPASSWD, password) }
        }
        let isSameOrigin = request.url.isSameOrigin(as: key.url)
        let own = isSameOrigin ? key.options.credential : nil
        if let credential = own ?? configuration.credential?(request.url) {
            gwi_curl_set_long(easy, CURLOPT_HTTPAUTH, CurlMacro.authBasic | CurlMacro.authDigest)
            gwi_curl_set_string(easy, CURLOPT_USERNAME, credential.user)
            gwi_curl_set_string(easy, CURLOPT_PASSWORD, credential.password)
        }
        if key.options.handlesCookies { gwi_curl_set_string(easy, CURLOPT_COOKIEFILE, "") }
    }

    private func setProxy(_ easy: UnsafeMutableRawPointer) {
        switch proxy {
        case .environment: break
        case .direct: gwi_curl_set_string(easy, CURLOPT_PROXY, "")
        case .proxy(let address): gwi_curl_set_string(easy, CURLOPT_PROXY, address)
        }
    }

    private func setRequest(_ easy: UnsafeMutableRawPointer, _ request: RequestModifier.Request) {
        if let body = request.body {
            gwi_curl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(body.count))
            _ = body.withUnsafeBytes { gwi_curl_copy_body(easy, $0.baseAddress) }
        }
        if request.method != "GET" || request.body != nil {
            gwi_curl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method)
        }
        var fields = request.headers
        if let resumed, let condition = resumed.condition {
            fields["Range"] = "bytes=\(resumed.data.count)-"
            fields["If-Range"] = condition
        } else {
            // All that libcurl can undo. What is continued has to come as it is.
            gwi_curl_set_string(easy, CURLOPT_ACCEPT_ENCODING, "")
        }
        if let validators = key.validators {
            if let etag = validators.etag { fields["If-None-Match"] = etag }
            if let date = validators.lastModified { fields["If-Modified-Since"] = date }
        }
        curl_slist_free_all(headerList)
        headerList = nil
        for (name, value) in fields where Self.isSound(name) && Self.isSound(value) {
            headerList = curl_slist_append(headerList, value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        gwi_curl_set_list(easy, CURLOPT_HTTPHEADER, headerList)
    }

    /// A line break would make another header field, or another request, of what follows.
    private static func isSound(_ text: String) -> Bool {
        !text.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 }
    }
}

/// Macros of curl.h that Swift cannot read.
private enum CurlMacro {
    static let hstsEnable = 1
    static let authBasic = 1
    static let authDigest = 2
}

extension Duration {
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
