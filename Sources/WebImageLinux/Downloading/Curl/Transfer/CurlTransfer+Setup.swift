internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

// The options of a request.
extension CurlTransfer {
    /// Attaches a handle and sets its options for the exchange.
    /// - Parameters:
    ///   - share: The state that transfers share: HSTS hosts, and cookies for the requests that handle them.
    ///   - idleAge: The seconds for which a connection may have been unused.
    func configure(_ handle: CurlHandle, share: UnsafeMutableRawPointer, idleAge: Int) {
        (exchange.handle, exchange.launchedAt) = (handle, .now)
        handle.set(CURLOPT_URL, to: exchange.request.url.absoluteString)
        handle.set(CURLOPT_SHARE, to: share)
        handle.set(CURLOPT_NOSIGNAL, to: 1)
        // libcurl would otherwise wait for getaddrinfo(3) when it ends a transfer, and all others with it.
        handle.set(CURLOPT_QUICK_EXIT, to: 1)
        if exchange.isOnFreshConnection { handle.set(CURLOPT_FRESH_CONNECT, to: 1) }
        // Eight times the default means fewer system calls and fewer callbacks.
        handle.set(CURLOPT_BUFFERSIZE, to: 128 << 10)
        setCallback(handle)
        setProtocol(handle)
        setLimits(handle, idleAge: idleAge)
        setSecurity(handle)
        setCredential(handle)
        setProxy(handle)
        setRequest(handle)
    }

    /// Passes the priority on to the server, where HTTP/2 is used.
    func setWeight() {
        // RFC 7540, 5.3.2: weights are 1 to 256.
        exchange.handle?.set(CURLOPT_STREAM_WEIGHT, to: [4, 8, 16, 64, 256][priority.rank])
    }

    private func setCallback(_ handle: CurlHandle) {
        handle.set(CURLOPT_WRITEDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            // Returning anything but the byte count aborts the transfer; for an empty chunk 0 is the count.
            guard count > 0 else { return 0 }
            return transfer.receive(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
        }
        handle.set(CURLOPT_HEADERDATA, to: Unmanaged.passUnretained(self).toOpaque())
        handle.setCallback(CURLOPT_HEADERFUNCTION) { line, size, count, context in
            let transfer = Unmanaged<CurlTransfer>.fromOpaque(context!).takeUnretainedValue()
            let line = UnsafeRawBufferPointer(start: line, count: size * count)
            return transfer.receiveHeaderLine(line) ? size * count : 0
        }
    }

    private func setProtocol(_ handle: CurlHandle) {
        // libcurl looks at this after it has made https of the http URL of a host that requires TLS.
        handle.set(CURLOPT_PROTOCOLS_STR, to: exchange.requiresTLS ? "https" : "http,https")
        // The library follows redirects itself: libcurl would send the headers meant for one host to another.
        handle.set(CURLOPT_FOLLOWLOCATION, to: 0)
        setVersion(handle)
        // A second request to a host waits until it is known whether it can share the first connection. Over TLS the
        // handshake tells; over cleartext only the first response would, and HTTP/2 is not used there anyway.
        handle.set(CURLOPT_PIPEWAIT, to: exchange.request.url.scheme?.lowercased() == "https" ? 1 : 0)
        // CURLHSTS_ENABLE, a macro that Swift does not import.
        handle.set(CURLOPT_HSTS_CTRL, to: 1)
        setWeight()
    }

    /// With HTTP/3, libcurl starts QUIC and soon after TCP for a new connection, and keeps the one that is established first.
    /// A host whose keys are pinned is asked over TCP, for which all versions of libcurl compare keys.
    private func setVersion(_ handle: CurlHandle) {
        let usesHTTP3 =
            configuration.usesHTTP3 && ImageDownloader.supportsHTTP3
            && configuration.pinnedPublicKeys(for: exchange.request.url) == nil
        handle.set(CURLOPT_HTTP_VERSION, to: Int(usesHTTP3 ? CURL_HTTP_VERSION_3 : CURL_HTTP_VERSION_2TLS))
    }

    private func setLimits(_ handle: CurlHandle, idleAge: Int) {
        handle.set(CURLOPT_CONNECTTIMEOUT_MS, to: max(1, Int(connectTimeout.timeoutMilliseconds)))
        handle.setOffset(CURLOPT_MAXFILESIZE_LARGE, to: configuration.maximumByteCount)
        // Routers forget a connection that is silent for some minutes.
        handle.set(CURLOPT_TCP_KEEPALIVE, to: 1)
        handle.set(CURLOPT_MAXAGE_CONN, to: idleAge)
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
        if let keys = configuration.pinnedPublicKeys(for: exchange.request.url) {
            handle.set(CURLOPT_PINNEDPUBLICKEY, to: keys)
        }
        // An empty file name turns the cookie engine on without reading a file.
        if key.options.handlesCookies { handle.set(CURLOPT_COOKIEFILE, to: "") }
    }

    /// Sets the credential for the server: the answer of the app to its challenge, or the one of the request or of its URL.
    private func setCredential(_ handle: CurlHandle) {
        let isSameOrigin = exchange.request.url.isSameOrigin(as: key.url)
        if let answer = answer(about: party(isProxy: false)) {
            set(answer.credential, answer.scheme.rawValue)
        } else if isSameOrigin, let credential = key.options.credential {
            set(credential, Scheme.basic.rawValue | Scheme.digest.rawValue)
        } else if isSameOrigin, exchange.request.url.userInfo == nil,
            let credential = NetworkOptions.Credential(userOf: key.url)
        {
            // The target of a redirect has not repeated the user of the URL.
            set(credential, Scheme.basic.rawValue)
        }
        func set(_ credential: NetworkOptions.Credential, _ schemes: Int) {
            handle.setCredential(credential, schemes: schemes)
            exchange.credential = credential
        }
    }

    private func setProxy(_ handle: CurlHandle) {
        let answer = answer(about: party(isProxy: true))
        switch exchange.proxy {
        case .environment: break
        case .direct: return handle.set(CURLOPT_PROXY, to: "")
        // A user in the address would go before the answer of the app.
        case .proxy(let address), .fixed(let address):
            handle.set(CURLOPT_PROXY, to: answer == nil ? address : CurlAddress.withoutUser(address))
        }
        // libcurl would look at no_proxy otherwise.
        if case .fixed = exchange.proxy { handle.set(CURLOPT_NOPROXY, to: "") }
        guard let answer else { return }
        handle.set(CURLOPT_PROXYAUTH, to: answer.scheme.rawValue)
        handle.set(CURLOPT_PROXYUSERNAME, to: answer.credential.user)
        handle.set(CURLOPT_PROXYPASSWORD, to: answer.credential.password)
    }

    private func setRequest(_ handle: CurlHandle) {
        let request = exchange.request
        if let body = request.body { body.withUnsafeBytes { handle.setBody($0) } }
        if request.method != "GET" || request.body != nil { handle.set(CURLOPT_CUSTOMREQUEST, to: request.method) }
        var fields = request.headers
        if let resumed, fields.field("range") == nil, let condition = resumed.version.condition,
            resumed.version.url == request.url
        {
            exchange.part = resumed
            fields = fields.replacingFields(with: ["Range": "bytes=\(resumed.data.count)-", "If-Range": condition])
            // A resumed body has to come unencoded.
            for name in fields.keys where name.lowercased() == "accept-encoding" { fields[name] = nil }
        } else {
            acceptCodings(handle, &fields)
        }
        let (etag, date) = validators
        if let etag { fields = fields.replacingFields(with: ["If-None-Match": etag]) }
        if let date { fields = fields.replacingFields(with: ["If-Modified-Since": date]) }
        exchange.isConditional = etag != nil || date != nil
        handle.setHeaders(fields)
    }

    /// The validators of the resource that is requested. Those of a response that a redirect led to say nothing of another one, which
    /// may be older and still have to be shown. An entity tag also counts for another signature of the same URL, which differs each time.
    private var validators: (etag: String?, date: String?) {
        guard let validators = key.validators else { return (nil, nil) }
        guard let known = validators.redirects else {
            return redirects == nil ? (validators.etag, validators.lastModified) : (nil, nil)
        }
        let target = exchange.target
        return (
            known.isTarget(unsigned: target.withoutSignature) ? validators.etag : nil,
            known.isTarget(target) ? validators.lastModified : nil
        )
    }

    private func acceptCodings(_ handle: CurlHandle, _ fields: inout [String: String]) {
        guard fields.field("accept-encoding") != nil else {
            fields["Accept-Encoding"] = ContentDecoder.accepted
            return
        }
        // The field of the app replaces that of libcurl, which decodes whatever it knows.
        handle.set(CURLOPT_ACCEPT_ENCODING, to: "")
        exchange.isDecodedByCurl = true
    }
}
