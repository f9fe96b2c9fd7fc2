public import FoundationEssentials

/// Gets the bytes of a URL: over the network, from a file, or from wherever an app keeps them. From any thread.
public protocol DataLoading: Sendable {
    /// Whether it loads url; the newest loader that says yes is used.
    func canLoad(_ url: URL) -> Bool

    /// Whether bytes from url are worth a copy in the disk cache. Default: yes.
    func shouldCacheOnDisk(_ url: URL) -> Bool

    /// Whether url can only be had while the machine is online; then a load that is sure to fail is not tried.
    /// Default: no.
    func requiresNetwork(_ url: URL) -> Bool

    /// The header fields that a load would send, for responses that vary with them (RFC 9110, 12.5.5). Default: those
    /// of the request's options.
    func headers(for request: LoaderRequest) -> [String: String]

    /// Starts to load.
    /// - Parameters:
    ///   - request: What to load.
    ///   - onEvent: Called on a thread of the loader's, one event at a time, ending with LoaderEvent/finished(_:)
    ///     exactly once, unless the load is cancelled. Must not block.
    /// - Returns: A handle on the load. It may have finished already.
    func load(_ request: LoaderRequest, onEvent: @escaping @Sendable (LoaderEvent) -> Void) -> any FetchOperation
}

extension DataLoading {
    /// Yes.
    public func shouldCacheOnDisk(_ url: URL) -> Bool { true }

    /// No.
    public func requiresNetwork(_ url: URL) -> Bool { false }

    /// Those of the request's options.
    public func headers(for request: LoaderRequest) -> [String: String] { request.options.headers }
}

extension DataLoading {
    /// Tells loaders apart: objects by themselves, values by their type.
    var identity: ObjectIdentifier {
        type(of: self) is AnyClass ? ObjectIdentifier(self as AnyObject) : ObjectIdentifier(type(of: self))
    }
}

/// What a loader is asked for.
public struct LoaderRequest: Sendable {
    /// Where the bytes are.
    public var url: URL
    /// How urgent they are.
    public var priority: ImagePriority
    /// Whether LoaderEvent/data(_:) is wanted.
    public var wantsData: Bool
    /// How they are asked for.
    public var options: NetworkOptions
    /// What a copy at hand is told apart by: the bytes are wanted only if they are others, and
    /// LoaderResult/isNotModified says that they are not. Default: there is no copy.
    public var validators: ResponseMetadata.Validators?

    /// Makes a request.
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

/// What a loader says while it loads.
public enum LoaderEvent: Sendable {
    /// So many bytes have come; the total is known where the server says so.
    case progress(received: Int64, expected: Int64?)
    /// The next bytes. Only when asked for.
    case data(Data)
    /// The end.
    case finished(Result<LoaderResult, ImageError>)
}

/// A load under way, as the one who asked for it holds it.
public protocol FetchOperation: Sendable {
    /// Stops it; no event comes after the one that may be under way. Harmless when it has finished.
    func cancel()

    /// Changes how urgent it is.
    func setPriority(_ priority: ImagePriority)

    /// Asks for LoaderEvent/data(_:) from now on; the first holds all that has come so far.
    func startStreaming()

    /// Whether the rest will be here sooner than a new load would bring its first byte, so that a load that nobody
    /// waits for is better finished, for the cache, than cancelled. Default: no.
    var isNearlyComplete: Bool { get }
}

extension FetchOperation {
    /// No.
    public var isNearlyComplete: Bool { false }
}

/// The bytes of a URL, and what was said about them.
public struct LoaderResult: Sendable {
    /// All of the bytes.
    public var data: Data
    /// What the server said about them.
    public var metadata: ResponseMetadata
    /// Whether the copy that LoaderRequest/validators stand for is still the right one; there are no bytes then.
    public var isNotModified: Bool
    /// How the transfer went, if there was one.
    public var metrics: TransferMetrics?

    /// Makes the result of a load.
    public init(
        data: Data,
        metadata: ResponseMetadata = ResponseMetadata(),
        isNotModified: Bool = false,
        metrics: TransferMetrics? = nil
    ) {
        self.data = data
        self.metadata = metadata
        self.isNotModified = isNotModified
        self.metrics = metrics
    }
}
