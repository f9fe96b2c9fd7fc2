internal import CWebImageShims
public import FoundationEssentials
public import WebImageCore

/// The loader of http and https URLs, which uses libcurl on one network thread.
///
/// Equal requests share one transfer, which has the highest of their priorities and stops when the last of them is
/// cancelled. Connections are kept open and shared, and HTTP/2 is used
/// where the server supports it, or HTTP/3 with ``Configuration/usesHTTP3``. An interrupted
/// transfer is resumed where the server supports range requests. When a downloader is released, it completes the
/// transfers that are running. All members may be used from any thread.
public final class ImageDownloader: NetworkLoading {
    /// The downloader of ImageManager.shared, unless that is configured with another.
    public static let shared = ImageDownloader()

    /// Whether the installed libcurl has HTTP/3 from ngtcp2. With the QUIC of OpenSSL, which Debian 13 has, a connection stalls after
    /// some hundred cancelled requests.
    package static let supportsHTTP3 = gwi_curl_has_http3()

    private let commands: CurlCommandQueue

    /// Makes a downloader. Its thread starts with the first request.
    public init(configuration: Configuration = Configuration()) {
        commands = CurlCommandQueue(configuration, .desktop)
    }

    /// - Parameters:
    ///   - proxyTimeLimit: The time after which a load goes on without an answer of the lookup.
    ///   - proxyLookup: Replaces the desktop's proxy lookup; see ``Proxy/system``.
    init(
        configuration: Configuration,
        proxyTimeLimit: Duration = ProxyResolver.standardTimeLimit,
        proxyLookup: @escaping @Sendable (URL) -> [String]?
    ) {
        commands = CurlCommandQueue(configuration, ProxyResolver(timeLimit: proxyTimeLimit, lookUp: proxyLookup))
    }

    /// - Parameter startThread: Starts a thread that runs a body. Returns 0 or an error number. Tests replace it.
    init(
        configuration: Configuration,
        startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32
    ) {
        commands = CurlCommandQueue(configuration, .desktop, startThread: startThread)
    }

    deinit {
        commands.post(.stop)
    }

    /// The settings. A change applies to the transfers that leave the queue after it.
    public var configuration: Configuration {
        get { commands.configuration }
        set { commands.configuration = newValue }
    }

    /// Whether the downloader starts no transfers. Running transfers continue, and the others wait. Default: false.
    public var isSuspended: Bool {
        get { commands.isSuspended }
        set { commands.isSuspended = newValue }
    }

    /// The numbers of transfers that run and that wait.
    public var transferCounts: (running: Int, waiting: Int) { commands.counts }

    /// Cancels every transfer. Their requests fail with ``/WebImageCore/ImageError/Code/cancelled``.
    public func cancelAllTransfers() {
        commands.post(.cancelAll)
    }

    package func trimMemory(toShare share: Double) {
        commands.post(.trimParts(toShare: share))
    }

    package func networkDidChange() { commands.post(.noteNetworkChange) }

    /// Whether the scheme is `http` or `https`.
    public func canLoad(_ url: URL) -> Bool {
        switch url.scheme?.lowercased() {
        case "http", "https": true
        default: false
        }
    }

    /// Whether the URL has a host. While the system says that there is no network, it is loaded with one quick attempt, which brings the
    /// image from this machine, from the local network, and where the system is wrong.
    public func requiresNetwork(_ url: URL) -> Bool {
        // Without a host the error says so, also offline.
        url.host()?.isEmpty == false
    }

    /// The header fields of a request, after the header filter and the request modifier, with the credential that is known for its
    /// server. An asynchronous modifier and ``Configuration/credential`` are asked only when the request is sent, and cookies are added
    /// then: these fields are missing, and a cached response that varies by one of them is validated by its server.
    public func headers(for request: LoaderRequest) -> [String: String] {
        let configuration = configuration
        let plain = configuration.request(request.url, options: request.options, isSameOrigin: true)
        let modifier = request.options.requestModifier ?? configuration.requestModifier
        var modified = plain
        if case .immediate(let modify) = modifier?.function {
            guard let answer = modify(plain) else { return [:] }
            modified = answer
            modified.headers = answer.headers.withUniqueNames(since: plain.headers)
        }
        let own = modified.url.isSameOrigin(as: request.url) ? request.options.credential : nil
        return modified.adding(own ?? .init(userOf: modified.url)).headers
    }

    package func lateFields(of request: LoaderRequest) -> LateFields {
        let configuration = configuration
        let modifier = request.options.requestModifier ?? configuration.requestModifier
        if case .asynchronous = modifier?.function { return .any }
        var names: Set<String> = []
        if configuration.credential != nil, headers(for: request).field("authorization") == nil {
            names.insert("authorization")
        }
        if request.options.handlesCookies { names.insert("cookie") }
        return names.isEmpty ? .none : .named(names)
    }

    /// Starts a transfer, or joins the transfer of an equal request. Events arrive on the network thread; where the system starts
    /// none, the failure arrives within a call, on the thread of the caller.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let operation = CurlFetchOperation(request, commands, onEvent: onEvent)
        commands.post(.start(operation))
        return operation
    }
}
