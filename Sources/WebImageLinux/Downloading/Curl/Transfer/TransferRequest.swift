internal import CWebImageCurl
internal import CWebImageShims
import FoundationEssentials
import WebImageCore

/// The request of an exchange. The next exchange of the transfer gets a copy with the consequences of this one.
struct TransferRequest {
    /// The second request after status 401, for which the modifier is asked once.
    enum SecondRequest {
        case notAsked
        /// The modifier is asked. The error is reported if it returns the refused request again.
        case asking(insteadOf: RequestModifier.Request, ImageError)
        case asked
    }

    let key: TransferKey
    /// The configuration of the downloader when the transfer left the queue.
    let configuration: ImageDownloader.Configuration
    /// The body of an earlier, interrupted transfer, which this one resumes.
    var resumed: PartialBody?
    /// The URL before the request modifier.
    var target: URL
    /// The request as it is sent. While the request modifier is asked, the request before the modifier.
    var message: RequestModifier.Request
    /// Whether a redirect from https led here. An http URL is then allowed only if libcurl knows that the host requires
    /// TLS (HSTS) and turns it into https.
    var requiresTLS = false
    var proxy = ProxyChoice.environment
    /// The targets of the redirects so far.
    var redirectTargets: [URL] = []
    /// The metadata of the redirects, and the request that the first of them answered.
    var redirects: (request: RequestModifier.Request, responses: [(status: Int, metadata: ResponseMetadata)])?
    var secondRequest = SecondRequest.notAsked
    /// The latest credentials from the app for servers and proxies that have demanded one.
    var answers: [Challenge.Party: (credential: NetworkOptions.Credential, scheme: Challenge.Scheme)] = [:]
    /// How often the app was asked for a credential.
    var attemptCounts: [Challenge.Party: Int] = [:]

    init(_ key: TransferKey, _ configuration: ImageDownloader.Configuration, resuming body: PartialBody? = nil) {
        (self.key, self.configuration, resumed) = (key, configuration, body)
        target = key.url
        message = RequestModifier.Request(url: key.url)
    }

    /// The request before the request modifier. A redirect to another origin gets neither the header fields of the load's options nor
    /// credentials.
    var plainMessage: RequestModifier.Request {
        var headers = key.defaultHeaders.replacingFields(with: ["User-Agent": configuration.userAgent])
            .replacingFields(with: configuration.headers)
        if target.origin == key.url.origin {
            headers = headers.replacingFields(with: key.options.headers)
        } else {
            headers = headers.filter { !Self.secretFields.contains($0.key.lowercased()) }
        }
        return RequestModifier.Request(url: target, headers: headers)
    }

    private static let secretFields: Set<String> = ["authorization", "cookie", "proxy-authorization"]

    var modifier: RequestModifier? { key.options.requestModifier ?? configuration.requestModifier }
    var decryptor: ImageDecryptor? { key.options.decryptor ?? configuration.decryptor }
    var redirectCount: Int { redirects?.responses.count ?? 0 }
    var totalTimeout: Duration? { key.options.totalTimeout ?? configuration.totalTimeout }

    /// The time for which the transfer may receive nothing.
    var idleTimeout: Duration {
        max((key.options.idleTimeout ?? configuration.idleTimeout).bounded, .milliseconds(1))
    }

    var isHTTPS: Bool { message.url.scheme?.lowercased() == "https" }
    /// Whether the exchange must use TLS.
    var isSecure: Bool { requiresTLS || isHTTPS }
    var origin: Origin { message.url.origin }

    /// The part of the body whose rest is requested, and the If-Range condition for its version.
    var part: (body: PartialBody, condition: String)? {
        guard let resumed, message.headers.field("range") == nil, let condition = resumed.condition,
            resumed.url == message.url
        else { return nil }
        return (resumed, condition)
    }

    /// Whether the app has chosen the codings, which libcurl then removes. A resumed body must not be encoded.
    var isDecodedByCurl: Bool { part == nil && message.headers.field("accept-encoding") != nil }

    /// The validators of the requested resource. Validators from the target of a redirect do not apply to another target, which may
    /// be older and still must be shown. An entity tag also applies if only the signature of the URL differs, as it does each time.
    var validators: (etag: String?, date: String?) {
        guard let validators = key.validators else { return (nil, nil) }
        guard let known = validators.redirects else {
            return redirects == nil ? (validators.etag, validators.lastModified) : (nil, nil)
        }
        return (
            known.isTarget(unsigned: target.withoutSignature) ? validators.etag : nil,
            known.isTarget(target) ? validators.lastModified : nil
        )
    }

    /// The request with the fields that libcurl adds, as far as responses may depend on them. The cookies themselves are not known.
    var wholeMessage: RequestModifier.Request {
        var request = messageWithCredential
        if key.options.handlesCookies, request.headers.field("cookie") == nil { request.headers["Cookie"] = "some" }
        return request
    }
}

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
        if let (credential, schemes) = credential {
            // A single scheme needs no challenge.
            handle.set(CURLOPT_HTTPAUTH, to: schemes)
            handle.set(CURLOPT_USERNAME, to: credential.user)
            handle.set(CURLOPT_PASSWORD, to: credential.password)
        }
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
        let answer = answers[.proxy(proxy.name(for: message.url))]
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
        if let body = message.body {
            handle.setOffset(CURLOPT_POSTFIELDSIZE_LARGE, to: body.count)
            // libcurl copies the body.
            _ = body.withUnsafeBytes { gwi_curl_copy_body(handle.easy, $0.baseAddress) }
        }
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
