public import FoundationEssentials
public import WebImageCore

/// Fetches `http` and `https` URLs with libcurl, on one network thread of its own.
///
/// However many ask for a URL at a time, there is one transfer, as urgent as the most urgent of them; it stops when the
/// last one leaves. Connections are kept and shared, HTTP/2 is used where the server has it. A loader that is dropped
/// finishes what is under way.
public final class CurlLoader: ImageLoading {
    private let inbox: CurlInbox

    /// Starts the network thread.
    public init(configuration: CurlConfiguration = CurlConfiguration()) {
        inbox = CurlInbox()
        CurlThread.start(configuration, inbox)
    }

    deinit {
        inbox.post(.stop)
    }

    /// Whether the scheme is `http` or `https`.
    public func canLoad(_ url: URL) -> Bool {
        switch url.scheme?.lowercased() {
        case "http", "https": true
        default: false
        }
    }

    /// Starts to fetch, or joins the transfer of the same URL that is under way. Events come on the network thread.
    public func load(
        _ request: LoadRequest,
        onEvent: @escaping @Sendable (LoadEvent) -> Void
    ) -> any LoadOperation {
        let operation = CurlOperation(request, inbox, onEvent)
        inbox.post(.start(operation))
        return operation
    }
}
