public import FoundationEssentials

/// A loader of the bytes of a URL, from the network, a file, or your own source. Its methods are called on any thread.
/// Most apps write an asynchronous function instead: ``AsyncDataLoading``, ``AsyncDataStreaming``.
public protocol DataLoading: Sendable {
    /// Whether the loader accepts a URL. The loader that was added last is asked first.
    func canLoad(_ url: URL) -> Bool

    /// Whether the bytes of a URL are stored in the disk cache. Default: true.
    func shouldCacheOnDisk(_ url: URL) -> Bool

    /// Whether a URL can only be loaded while the machine is online. Offline, such a load fails at once. Default: false.
    func requiresNetwork(_ url: URL) -> Bool

    /// The header fields that the loader would send. They decide whether a cached response with a Vary field applies
    /// (RFC 9110, section 12.5.5). Default: the fields of the request's options.
    func headers(for request: LoaderRequest) -> [String: String]

    /// Starts a load. Other loads of the manager wait for this call, so do lengthy work on another thread.
    /// - Parameters:
    ///   - request: The URL, and how its bytes are wanted.
    ///   - onEvent: Receives one event at a time, on any thread, and ``LoaderEvent/finished(_:)`` exactly once as the
    ///     last one, unless the load is cancelled. It does not block.
    /// - Returns: The operation, which may have finished already.
    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation
}

extension DataLoading {
    /// Returns true: the bytes are stored in the disk cache.
    public func shouldCacheOnDisk(_ url: URL) -> Bool { true }

    /// Returns false: loads also start without a network.
    public func requiresNetwork(_ url: URL) -> Bool { false }

    /// Returns the header fields of the request's options, for loaders that add none.
    public func headers(for request: LoaderRequest) -> [String: String] { request.options.headers }
}

/// A loader that contacts servers, including servers on this machine.
package protocol NetworkLoading: DataLoading {
    /// The fields that ``DataLoading/headers(for:)`` lacks, or whose value it does not know, because the loader learns
    /// them only when it sends the request.
    func lateFields(of request: LoaderRequest) -> LateFields

    /// Drops memory that the loader keeps.
    /// - Parameter share: The share of its limit that it may keep, 0 to 1.
    func trimMemory(toShare share: Double)

    /// Tells the loader that existing connections may be dead.
    func networkDidChange()
}

extension DataLoading {
    /// Whether a load may start with a network status.
    func canReach(_ url: URL, _ status: ImageNetworkStatus) -> Bool {
        if status.isAvailable { return true }
        // If the app has gone offline, no server may be asked, even if a connection exists.
        return !(status.isOfflineByApp && self is any NetworkLoading) && !requiresNetwork(url)
    }

    /// The identity of the loader: that of the object, or of the type of a value.
    var identity: ObjectIdentifier {
        type(of: self) is AnyClass ? ObjectIdentifier(self as AnyObject) : ObjectIdentifier(type(of: self))
    }
}

/// The request that a loader receives.
public struct LoaderRequest: Sendable {
    /// The URL of the bytes.
    public var url: URL
    /// The urgency of the load.
    public var priority: ImagePriority
    /// Whether the loader sends ``LoaderEvent/data(_:)`` as the bytes arrive.
    public var wantsData: Bool
    /// The header fields, credentials and timeouts of a network request.
    public var options: NetworkOptions
    /// The validators (ETag, Last-Modified) of the cached copy. They make the request conditional, and it may end with
    /// ``LoaderResult/isNotModified``. Default: none, because there is no copy.
    public var validators: ResponseMetadata.Validators?
    /// Whether the target of a redirect may be loaded; ask before you follow it, on any thread. Default: `nil`, for every target.
    public package(set) var shouldLoad: (@Sendable (_ url: URL) -> Bool)?
    /// The largest number of bytes. The library enforces it for asynchronous loaders; an `ImageDownloader` has its own
    /// limit. Default: 128 MiB; in an app, the limit of the manager's downloader.
    public var maximumByteCount = 128 << 20
    /// The error of a body of an unknown format that begins with these bytes, which ends the load.
    package var refusal: (@Sendable (_ head: Data) -> ImageError?)?
    /// The header fields of the library, such as Accept, unless the app sets the same fields.
    package var defaultHeaders = ["Accept": "image/*,*/*;q=0.8"]
    /// The age of the load (``Serial/nextAge()``). Among transfers of the same priority, the oldest goes first.
    package var age = Serial.nextAge()
    /// Whether the network may be missing, so that connecting may take at most three seconds.
    package var isQuickAttempt = false
    /// Whether the load ends as soon as there is a connection, without a request.
    package var connectsOnly = false
    /// The memory for bytes that are not decoded yet, which transfers wait for in their order. Default: no limit.
    package var budget: MemoryBudget?

    /// Creates a request, for the test of a loader. In an app, the library creates requests.
    public init(
        url: URL,
        priority: ImagePriority = .normal,
        wantsData: Bool = false,
        options: NetworkOptions = NetworkOptions(),
        validators: ResponseMetadata.Validators? = nil
    ) {
        self.url = url
        self.priority = priority
        self.wantsData = wantsData
        self.options = options
        self.validators = validators
    }
}

/// An event of a load.
public enum LoaderEvent: Sendable {
    /// The number of bytes received so far, and the length of the body if the server states it.
    case progress(received: Int64, expected: Int64?)
    /// The next bytes, if the request wants them.
    case data(Data)
    /// The load has ended, with the bytes or an error. No event follows.
    case finished(Result<LoaderResult, ImageError>)
}

/// A running load. Its methods are called on any thread.
public protocol FetchOperation: Sendable {
    /// Cancels the load. No event follows, except for one that is being delivered. Does nothing after the end.
    func cancel()

    /// Changes the urgency of the load.
    func setPriority(_ priority: ImagePriority)

    /// Sends ``LoaderEvent/data(_:)`` from now on, starting with all bytes received so far.
    func startStreaming()

    /// Whether so little is left that finishing the load for the disk cache costs less than cancelling it. Default: false.
    var isNearlyComplete: Bool { get }
}

extension FetchOperation {
    /// Returns false: a load without a waiting caller is always cancelled.
    public var isNearlyComplete: Bool { false }
}

/// The bytes of a URL, with the server's metadata.
public struct LoaderResult: Sendable {
    /// The bytes; empty for ``isNotModified``.
    public var data: Data
    /// The header fields that matter for caching.
    public var metadata: ResponseMetadata {
        get { boxedMetadata.value }
        set { boxedMetadata = Box(newValue) }
    }
    /// The head of the response, for ``LoadResponse/head``. Default: none.
    public var head: ResponseHead? {
        get { boxedHead?.value }
        set { boxedHead = newValue.map(Box.init) }
    }
    /// Whether the server answered 304 Not Modified: the copy with ``LoaderRequest/validators`` is current.
    public var isNotModified: Bool
    /// The times and sizes of the transfer, if there was one.
    public var metrics: TransferMetrics? {
        get { boxedMetrics?.value }
        set { boxedMetrics = newValue.map(Box.init) }
    }
    /// Whether the bytes are in a mapped file.
    package var isInFile = false
    /// Whether only the end of the connection marks the end of the bytes, so that some may be missing.
    package var endsWithConnection = false
    /// Whether the bytes are a range that the app has requested, rather than the whole body (RFC 9110, section 15.3.7).
    package var isRange = false

    private var boxedMetadata: Box<ResponseMetadata>
    private var boxedHead: Box<ResponseHead>?
    private var boxedMetrics: Box<TransferMetrics>?

    /// Creates the result of a load.
    public init(
        data: Data,
        metadata: ResponseMetadata = ResponseMetadata(),
        head: ResponseHead? = nil,
        isNotModified: Bool = false,
        metrics: TransferMetrics? = nil
    ) {
        self.data = data
        boxedMetadata = Box(metadata)
        boxedHead = head.map(Box.init)
        self.isNotModified = isNotModified
        boxedMetrics = metrics.map(Box.init)
    }
}
