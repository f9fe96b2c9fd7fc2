public import FoundationEssentials

/// A loader of the bytes of a URL: over the network, from a file, or from wherever an app keeps them. Its methods are
/// called from any thread. Most apps write one as an asynchronous function: ``AsyncDataLoading``, ``AsyncDataStreaming``.
public protocol DataLoading: Sendable {
    /// Whether the loader takes a URL. The loader that was added last is asked first.
    func canLoad(_ url: URL) -> Bool

    /// Whether the bytes of a URL are stored in the disk cache. Default: true.
    func shouldCacheOnDisk(_ url: URL) -> Bool

    /// Whether a URL can only be loaded while the machine is online; offline, such a load fails at once. Default: false.
    func requiresNetwork(_ url: URL) -> Bool

    /// The header fields that the loader would send, which decide whether a cached response with a Vary field applies
    /// (RFC 9110, section 12.5.5). Default: those of the request's options.
    func headers(for request: LoaderRequest) -> [String: String]

    /// Starts a load. The other loads of a manager wait meanwhile, so work that takes time belongs on a thread of the loader.
    /// - Parameters:
    ///   - request: The URL, and how its bytes are wanted.
    ///   - onEvent: Receives one event at a time, on any thread, and ``LoaderEvent/finished(_:)`` exactly once as the last
    ///     one, unless the load is cancelled. It does not block.
    /// - Returns: The operation, which may have finished already.
    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation
}

extension DataLoading {
    /// Returns true: the bytes are worth a place in the disk cache.
    public func shouldCacheOnDisk(_ url: URL) -> Bool { true }

    /// Returns false: loads start without a network, too.
    public func requiresNetwork(_ url: URL) -> Bool { false }

    /// Returns the header fields of the request's options, for loaders that add none.
    public func headers(for request: LoaderRequest) -> [String: String] { request.options.headers }
}

/// A loader that asks servers, including servers on this machine.
package protocol NetworkLoading: DataLoading {
    /// The fields that ``DataLoading/headers(for:)`` lacks, or of which it does not know the value, because the loader learns them only
    /// when it sends the request.
    func lateFields(of request: LoaderRequest) -> LateFields

    /// Drops what the loader keeps in memory.
    /// - Parameter share: The share of its limit that it may keep, 0 to 1.
    func trimMemory(toShare share: Double)

    /// Takes note that connections from before may lead nowhere.
    func networkDidChange()
}

extension DataLoading {
    /// Whether a load may start in a state of the network.
    func canReach(_ url: URL, _ status: NetworkStatus) -> Bool {
        if status.isAvailable { return true }
        // The switch of an app is not about a connection: nobody is to be asked.
        return !(status.isOfflineByApp && self is any NetworkLoading) && !requiresNetwork(url)
    }

    /// The identity of the loader: that of the object, or for a value that of its type.
    var identity: ObjectIdentifier {
        type(of: self) is AnyClass ? ObjectIdentifier(self as AnyObject) : ObjectIdentifier(type(of: self))
    }
}

/// The bytes that a loader is asked for.
public struct LoaderRequest: Sendable {
    /// The URL of the bytes.
    public var url: URL
    /// The urgency of the load.
    public var priority: ImagePriority
    /// Whether the loader sends ``LoaderEvent/data(_:)`` as the bytes arrive.
    public var wantsData: Bool
    /// The header fields, credentials and timeouts of a network request.
    public var options: NetworkOptions
    /// The validators (ETag, Last-Modified) of the cached copy. With them the request is conditional, and may end with
    /// ``LoaderResult/isNotModified``. Default: none, because there is no copy.
    public var validators: ResponseMetadata.Validators?
    /// Whether a URL that this one leads to may be loaded, such as the target of a redirect. Called from any thread.
    /// Default: any.
    public var shouldLoad: (@Sendable (_ url: URL) -> Bool)?
    /// The largest number of bytes. The library holds an asynchronous loader to it; an `ImageDownloader` has a limit of its own.
    /// Default: 128 MiB; in an app that of the manager's downloader.
    public var maximumByteCount = 128 << 20
    /// The error of a body that begins with these bytes, for which the load does not go on.
    package var refusal: (@Sendable (_ head: Data) -> ImageError?)?
    /// The age of the load (``Serial/nextAge()``). Of transfers of one priority, the oldest goes first.
    package var age = Serial.nextAge()
    /// Whether there may be no network, so that connecting takes three seconds at most.
    package var isQuickAttempt = false
    /// The memory for bytes that are not decoded yet, for which transfers wait in their order. Default: no limit.
    package var budget: MemoryBudget?

    /// Creates a request, as a test of a loader needs. In an app the library makes them.
    public init(
        url: URL,
        priority: ImagePriority = .normal,
        wantsData: Bool = false,
        options: NetworkOptions = NetworkOptions(),
        validators: ResponseMetadata.Validators? = nil,
        shouldLoad: (@Sendable (_ url: URL) -> Bool)? = nil
    ) {
        self.url = url
        self.priority = priority
        self.wantsData = wantsData
        self.options = options
        self.validators = validators
        self.shouldLoad = shouldLoad
    }
}

/// An event of a load.
public enum LoaderEvent: Sendable {
    /// The number of bytes received so far and, where the server says so, of all.
    case progress(received: Int64, expected: Int64?)
    /// The next bytes, when the request wants them.
    case data(Data)
    /// The load has ended, with the bytes or an error. No event follows.
    case finished(Result<LoaderResult, ImageError>)
}

/// A load in flight. Its methods are called from any thread.
public protocol FetchOperation: Sendable {
    /// Cancels the load. No event follows, except for one that is being delivered. Does nothing after the end.
    func cancel()

    /// Changes the urgency of the load.
    func setPriority(_ priority: ImagePriority)

    /// Sends ``LoaderEvent/data(_:)`` from now on, beginning with all bytes received so far.
    func startStreaming()

    /// Whether so little is left that finishing the load for the disk cache is cheaper than cancelling it. Default: false.
    var isNearlyComplete: Bool { get }
}

extension FetchOperation {
    /// Returns false: a load that nobody waits for is cancelled, however little is missing.
    public var isNearlyComplete: Bool { false }
}

/// The bytes of a URL, with what the server said about them.
public struct LoaderResult: Sendable {
    /// The bytes, empty for ``isNotModified``.
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
    /// Whether the bytes are in a file that is mapped into memory.
    package var isInFile = false
    /// Whether only the end of the connection told the end of the bytes, so that some may be missing.
    package var endsWithConnection = false
    /// Whether the bytes are the range that the app has asked for, rather than the whole (RFC 9110, section 15.3.7).
    package var isRange = false

    private var boxedMetadata: Box<ResponseMetadata>
    private var boxedHead: Box<ResponseHead>?
    private var boxedMetrics: Box<TransferMetrics>?

    /// Makes the result of a load.
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
