internal import CWebImageShims
public import FoundationEssentials
public import WebImageCore

/// The loader of http and https URLs, which uses libcurl on one network thread.
///
/// Equal requests share one transfer, which has the highest of their priorities and stops when the last of them is
/// cancelled. Connections are kept open and shared. HTTP/2 is used if the server supports it, and HTTP/3 with
/// ``Configuration/usesHTTP3``. An interrupted transfer is resumed if the server supports range requests. A downloader
/// that is released completes its running transfers. You can use all members from any thread.
public final class ImageDownloader: NetworkLoading {
    /// The downloader of ImageManager.shared, unless another one is configured.
    public static let shared = ImageDownloader()

    /// Whether the installed libcurl has HTTP/3 from ngtcp2. With the QUIC of OpenSSL, as in Debian 13, a connection
    /// stalls after some hundred cancelled requests.
    package static let supportsHTTP3 = gwi_curl_has_http3()

    private let commands: CurlCommandQueue

    /// Creates a downloader. Its thread starts with the first request.
    public init(configuration: Configuration = Configuration()) {
        commands = CurlCommandQueue(configuration, .desktop, idleTime: Self.idleTime, startThread: startDetachedThread)
    }

    /// How long the thread waits for requests before it ends.
    private static let idleTime = Duration.seconds(30)

    /// Tests replace the lookup of the desktop's proxy, the idle time, and the start of the thread.
    init(
        configuration: Configuration,
        proxies: ProxyResolver,
        idleTime: Duration = idleTime,
        startThread: @escaping CurlCommandQueue.ThreadStarter = startDetachedThread
    ) {
        commands = CurlCommandQueue(configuration, proxies, idleTime: idleTime, startThread: startThread)
    }

    deinit {
        commands.post(.stop)
    }

    /// The settings. A change applies to transfers that start after it.
    public var configuration: Configuration {
        get { commands.configuration }
        set { commands.configuration = newValue }
    }

    /// Whether the downloader starts no transfers. Running transfers continue; the others wait. Default: false.
    public var isSuspended: Bool {
        get { commands.isSuspended }
        set { commands.isSuspended = newValue }
    }

    /// The numbers of running and of waiting transfers.
    package var transferCounts: (running: Int, waiting: Int) { commands.counts }

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

    /// Whether the URL has a host. If the system reports no network, such a URL gets one quick attempt, which succeeds
    /// for images on this machine or the local network, or if the system is wrong.
    public func requiresNetwork(_ url: URL) -> Bool {
        // Without a host, the load fails with an error that says so, even offline.
        url.host()?.isEmpty == false
    }

    /// The header fields of a request after the header filter and the request modifier, including a credential that is
    /// already known. Asynchronous modifiers, ``Configuration/credential`` and cookies apply only when the request is sent,
    /// so their fields are missing here. A cached response that varies by one of these fields is validated by its server.
    public func headers(for request: LoaderRequest) -> [String: String] {
        var first = TransferRequest(TransferKey(request), configuration)
        let plain = first.plainMessage
        first.message = plain
        if case .immediate(let modify) = first.modifier?.function {
            guard let modified = modify(plain) else { return [:] }
            first.message = modified
            first.message.headers = modified.headers.withUniqueNames(since: plain.headers)
        }
        return first.messageWithCredential.headers
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

    /// Starts a transfer, or joins the transfer of an equal request. Events arrive on the network thread. If the system
    /// starts no thread, the failure arrives within this call, on the caller's thread.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let operation = CurlFetchOperation(request, commands, onEvent: onEvent)
        commands.post(.start(operation))
        return operation
    }
}
