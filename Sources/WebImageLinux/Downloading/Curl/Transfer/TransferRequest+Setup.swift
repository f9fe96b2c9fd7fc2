internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// The options of a handle.
extension TransferRequest {
    /// - Parameter priority: The priority at the launch of the exchange.
    func configure(_ handle: CurlHandle, _ priority: ImagePriority) {
        handle.set(CURLOPT_URL, to: message.url.absoluteString)
        handle.set(CURLOPT_NOSIGNAL, to: 1)
        // Otherwise libcurl would wait for getaddrinfo(3) when it ends a transfer, and so would all other transfers.
        handle.set(CURLOPT_QUICK_EXIT, to: 1)
        // Eight times the default size means fewer system calls and callbacks.
        handle.set(CURLOPT_BUFFERSIZE, to: 128 << 10)
        handle.setOffset(CURLOPT_MAXFILESIZE_LARGE, to: configuration.maximumByteCount)
        // Routers drop a connection that is silent for some minutes.
        handle.set(CURLOPT_TCP_KEEPALIVE, to: 1)
        if key.connectsOnly { handle.endBeforeRequest() }
        setConnection(handle)
        if let (credential, schemes) = credential { handle.setCredential(credential, schemes: schemes) }
        setProxy(handle)
        setMessage(handle, priority)
    }

    private func setConnection(_ handle: CurlHandle) {
        let pins = configuration.pinnedKeys(for: message.url)
        // libcurl checks this after it has turned the http URL of an HSTS host into https.
        handle.set(CURLOPT_PROTOCOLS_STR, to: requiresTLS ? "https" : "http,https")
        // The library follows redirects itself, because libcurl would send the headers for one host to another.
        handle.set(CURLOPT_FOLLOWLOCATION, to: 0)
        // With HTTP/3, libcurl starts QUIC and soon after TCP for a new connection, and keeps the one that is established first.
        // A host whose keys are pinned is asked over TCP, for which all versions of libcurl compare keys.
        let usesHTTP3 = configuration.usesHTTP3 && ImageDownloader.supportsHTTP3 && pins == nil
        handle.set(CURLOPT_HTTP_VERSION, to: Int(usesHTTP3 ? CURL_HTTP_VERSION_3 : CURL_HTTP_VERSION_2TLS))
        // A second request to a host waits until it is known whether it can share the first connection. The handshake of TLS
        // tells. Without TLS only the first response would, and HTTP/2 is not used there anyway.
        handle.set(CURLOPT_PIPEWAIT, to: isHTTPS ? 1 : 0)
        // CURLHSTS_ENABLE, a macro that Swift does not import.
        handle.set(CURLOPT_HSTS_CTRL, to: 1)
        if key.options.allowsInvalidCertificates {
            handle.set(CURLOPT_SSL_VERIFYPEER, to: 0)
            handle.set(CURLOPT_SSL_VERIFYHOST, to: 0)
        }
        if let file = configuration.certificateAuthorityFile { handle.set(CURLOPT_CAINFO, to: file) }
        if let certificate = configuration.clientCertificate {
            handle.set(CURLOPT_SSLCERT, to: certificate.file)
            handle.set(CURLOPT_SSLKEY, to: certificate.keyFile ?? certificate.file)
            if let password = certificate.password { handle.set(CURLOPT_KEYPASSWD, to: password) }
        }
        if let pins {
            // If the list is empty, no certificate matches.
            let keys = pins.isEmpty ? [""] : pins.sorted()
            handle.set(CURLOPT_PINNEDPUBLICKEY, to: keys.map { "sha256//\($0)" }.joined(separator: ";"))
        }
        // An empty file name turns the cookie engine on without reading a file.
        if key.options.handlesCookies { handle.set(CURLOPT_COOKIEFILE, to: "") }
    }

    private func setProxy(_ handle: CurlHandle) {
        let answer = answers[party(isProxy: true)]
        switch proxy {
        case .environment: break
        case .direct: return handle.set(CURLOPT_PROXY, to: "")
        // A user in the address would take precedence over the answer of the app.
        case .proxy(let address), .fixed(let address):
            handle.set(CURLOPT_PROXY, to: answer == nil ? address : CurlAddress.withoutUser(address))
        }
        // Otherwise libcurl would apply no_proxy.
        if case .fixed = proxy { handle.set(CURLOPT_NOPROXY, to: "") }
        guard let answer else { return }
        handle.set(CURLOPT_PROXYAUTH, to: answer.scheme.rawValue)
        handle.set(CURLOPT_PROXYUSERNAME, to: answer.credential.user)
        handle.set(CURLOPT_PROXYPASSWORD, to: answer.credential.password)
    }

    private func setMessage(_ handle: CurlHandle, _ priority: ImagePriority) {
        if let body = message.body { body.withUnsafeBytes { handle.setBody($0) } }
        if message.method != "GET" || message.body != nil { handle.set(CURLOPT_CUSTOMREQUEST, to: message.method) }
        var fields = message.headers
        if let (body, condition) = part {
            fields = fields.replacingFields(with: ["Range": "bytes=\(body.data.count)-", "If-Range": condition])
            for name in fields.keys where name.lowercased() == "accept-encoding" { fields[name] = nil }
        } else if isDecodedByCurl {
            // The app's field replaces libcurl's, and libcurl decodes the codings that it knows.
            handle.set(CURLOPT_ACCEPT_ENCODING, to: "")
        } else {
            fields["Accept-Encoding"] = ContentDecoder.accepted
        }
        if fields.field("priority") == nil {
            // RFC 9218, 4: from 0, the most urgent, to 7. An image is useful before it is complete.
            fields["Priority"] = "u=\([6, 5, 3, 2, 1][priority.rank]), i"
        }
        let (etag, date) = validators
        if let etag { fields = fields.replacingFields(with: ["If-None-Match": etag]) }
        if let date { fields = fields.replacingFields(with: ["If-Modified-Since": date]) }
        handle.setHeaders(fields)
    }
}
