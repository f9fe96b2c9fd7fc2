public import FoundationEssentials
import Synchronization
public import WebImageCore

/// Fetches http and https URLs with libcurl, on one network thread of its own.
///
/// However many ask for a URL at a time, there is one transfer, as urgent as the most urgent of them; it stops when the
/// last one leaves. Connections are kept and shared, HTTP/2 is used where the server has it; a transfer that was broken
/// off is continued where it ended, where the server can do that. A downloader that is dropped finishes what is under
/// way. From any thread.
public final class ImageDownloader: DataLoading {
    /// The one that ImageManager.shared uses, unless it is configured with another.
    public static let shared = ImageDownloader()

    private let inbox: CurlCommandQueue

    /// Makes a downloader. Its thread starts with the first request.
    public init(configuration: DownloaderConfiguration = DownloaderConfiguration()) {
        inbox = CurlCommandQueue(configuration, .desktop)
    }

    /// - Parameter proxyLookup: Stands in for the desktop's; see ProxyMode/system.
    package init(configuration: DownloaderConfiguration, proxyLookup: @escaping @Sendable (URL) -> [String]?) {
        inbox = CurlCommandQueue(configuration, ProxyResolver(lookUp: proxyLookup))
    }

    deinit {
        inbox.post(.stop)
    }

    /// How it fetches. A change holds for the transfers that are started after it.
    public var configuration: DownloaderConfiguration {
        get { inbox.configuration }
        set { inbox.configuration = newValue }
    }

    /// Whether no transfer is started. Those that run go on, the others wait. Default: no.
    public var isSuspended: Bool {
        get { inbox.isSuspended }
        set { inbox.isSuspended = newValue }
    }

    /// Transfers that run and that wait.
    public var transferCounts: (running: Int, waiting: Int) { inbox.counts }

    /// Ends every transfer; whoever waits for one gets ImageError.Code.cancelled.
    public func cancelAllTransfers() {
        inbox.post(.cancelAll)
    }

    /// What happens from now on, to any transfer. Whoever is slow to read misses the oldest of a thousand events.
    public func events() -> AsyncStream<TransferEvent> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1000)) { continuation in
            let number = inbox.observers.add { continuation.yield($0) }
            let observers = inbox.observers
            continuation.onTermination = { _ in observers.remove(number) }
        }
    }

    /// Whether the scheme is http or https.
    public func canLoad(_ url: URL) -> Bool {
        switch url.scheme?.lowercased() {
        case "http", "https": true
        default: false
        }
    }

    /// Whether the host is neither this machine nor one that may be near without a way into the internet: a private
    /// address, a name without a dot or one that ends in .local. What goes through a proxy may be on its way even so.
    public func requiresNetwork(_ url: URL) -> Bool {
        switch configuration.proxy {
        case .fixed: return false
        case .system, .environment: if ProxyResolver.hasEnvironment { return false }
        case .none: break
        }
        return !HostReachability.isNear(url.host() ?? "")
    }

    /// The header fields of a request, after the filter and the modifier.
    public func headers(for request: LoaderRequest) -> [String: String] {
        configuration.request(request.url, request.options, isSameOrigin: true)?.headers ?? [:]
    }

    /// Starts to fetch, or joins the transfer of the same request that is under way. Events come on the network thread.
    public func load(
        _ request: LoaderRequest,
        onEvent: @escaping @Sendable (LoaderEvent) -> Void
    ) -> any FetchOperation {
        let operation = CurlFetchOperation(request, inbox, onEvent)
        inbox.post(.start(operation))
        return operation
    }
}
