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

    /// The time limit for connecting, which is short for a quick attempt although the system reports no network.
    func connectTimeout(isQuick: Bool) -> Duration {
        let limit = key.options.connectTimeout ?? configuration.connectTimeout
        return isQuick ? min(limit, .seconds(3)) : limit
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
