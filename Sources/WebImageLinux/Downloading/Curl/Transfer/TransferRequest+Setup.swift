internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// The options of a handle.
extension TransferRequest {
    func configure(_ handle: CurlHandle) {
        handle.set(CURLOPT_URL, to: message.url.absoluteString)
        handle.set(CURLOPT_NOSIGNAL, to: 1)
        // libcurl would otherwise wait for getaddrinfo(3) when it ends a transfer, and all others with it.
        handle.set(CURLOPT_QUICK_EXIT, to: 1)
        // Eight times the default means fewer system calls and fewer callbacks.
        handle.set(CURLOPT_BUFFERSIZE, to: 128 << 10)
        handle.setOffset(CURLOPT_MAXFILESIZE_LARGE, to: configuration.maximumByteCount)
        // Routers forget a connection that is silent for some minutes.
        handle.set(CURLOPT_TCP_KEEPALIVE, to: 1)
        setProtocol(handle)
        setSecurity(handle)
        if let (credential, schemes) = credential { handle.setCredential(credential, schemes: schemes) }
        setProxy(handle)
        setMessage(handle)
    }

    private func setProtocol(_ handle: CurlHandle) {
        // libcurl looks at this after it has made https of the http URL of a host that requires TLS.
        handle.set(CURLOPT_PROTOCOLS_STR, to: requiresTLS ? "https" : "http,https")
        // The library follows redirects itself: libcurl would send the headers meant for one host to another.
        handle.set(CURLOPT_FOLLOWLOCATION, to: 0)
        // With HTTP/3, libcurl starts QUIC and soon after TCP for a new connection, and keeps the one that is established first.
        // A host whose keys are pinned is asked over TCP, for which all versions of libcurl compare keys.
        let usesHTTP3 =
            configuration.usesHTTP3 && ImageDownloader.supportsHTTP3
            && configuration.pinnedPublicKeys(for: message.url) == nil
        handle.set(CURLOPT_HTTP_VERSION, to: Int(usesHTTP3 ? CURL_HTTP_VERSION_3 : CURL_HTTP_VERSION_2TLS))
        // A second request to a host waits until it is known whether it can share the first connection. Over TLS the
        // handshake tells; over cleartext only the first response would, and HTTP/2 is not used there anyway.
        handle.set(CURLOPT_PIPEWAIT, to: isHTTPS ? 1 : 0)
        // CURLHSTS_ENABLE, a macro that Swift does not import.
        handle.set(CURLOPT_HSTS_CTRL, to: 1)
    }

    private func setSecurity(_ handle: CurlHandle) {
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
        if let keys = configuration.pinnedPublicKeys(for: message.url) { handle.set(CURLOPT_PINNEDPUBLICKEY, to: keys) }
        // An empty file name turns the cookie engine on without reading a file.
        if key.options.handlesCookies { handle.set(CURLOPT_COOKIEFILE, to: "") }
    }

    private func setProxy(_ handle: CurlHandle) {
        let answer = answers[party(isProxy: true)]
        switch proxy {
        case .environment: break
        case .direct: return handle.set(CURLOPT_PROXY, to: "")
        // A user in the address would go before the answer of the app.
        case .proxy(let address), .fixed(let address):
            handle.set(CURLOPT_PROXY, to: answer == nil ? address : CurlAddress.withoutUser(address))
        }
        // libcurl would look at no_proxy otherwise.
        if case .fixed = proxy { handle.set(CURLOPT_NOPROXY, to: "") }
        guard let answer else { return }
        handle.set(CURLOPT_PROXYAUTH, to: answer.scheme.rawValue)
        handle.set(CURLOPT_PROXYUSERNAME, to: answer.credential.user)
        handle.set(CURLOPT_PROXYPASSWORD, to: answer.credential.password)
    }

    private func setMessage(_ handle: CurlHandle) {
        if let body = message.body { body.withUnsafeBytes { handle.setBody($0) } }
        if message.method != "GET" || message.body != nil { handle.set(CURLOPT_CUSTOMREQUEST, to: message.method) }
        var fields = message.headers
        if let (body, condition) = part {
            fields = fields.replacingFields(with: ["Range": "bytes=\(body.data.count)-", "If-Range": condition])
            for name in fields.keys where name.lowercased() == "accept-encoding" { fields[name] = nil }
        } else if isDecodedByCurl {
            // The field of the app replaces that of libcurl, which decodes whatever it knows.
            handle.set(CURLOPT_ACCEPT_ENCODING, to: "")
        } else {
            fields["Accept-Encoding"] = ContentDecoder.accepted
        }
        let (etag, date) = validators
        if let etag { fields = fields.replacingFields(with: ["If-None-Match": etag]) }
        if let date { fields = fields.replacingFields(with: ["If-Modified-Since": date]) }
        handle.setHeaders(fields)
    }
}
