public import FoundationEssentials

/// Gets the bytes of a URL: over the network, from a file, or from wherever an app keeps them. From any thread.
public protocol ImageLoading: Sendable {
    /// Whether it loads `url`; the first loader that says yes is used.
    func canLoad(_ url: URL) -> Bool

    /// Whether bytes from `url` are worth a copy in the disk cache. Default: yes.
    func isWorthCaching(_ url: URL) -> Bool

    /// Starts to load.
    /// - Parameters:
    ///   - request: What to load.
    ///   - onEvent: Called on a thread of the loader's, one event at a time, ending with ``LoadEvent/finished(_:)``
    ///     exactly once, unless the load is cancelled. Must not block.
    /// - Returns: A handle on the load. It may have finished already.
    func load(_ request: LoadRequest, onEvent: @escaping @Sendable (LoadEvent) -> Void) -> any LoadOperation
}

extension ImageLoading {
    /// Yes.
    public func isWorthCaching(_ url: URL) -> Bool { true }
}

/// What a loader is asked for.
public struct LoadRequest: Sendable {
    /// Where the bytes are.
    public var url: URL
    /// How urgent they are.
    public var priority: ImagePriority
    /// Whether ``LoadEvent/data(_:)`` is wanted.
    public var wantsData: Bool

    /// Makes a request.
    public init(url: URL, priority: ImagePriority = .normal, wantsData: Bool = false) {
        self.url = url
        self.priority = priority
        self.wantsData = wantsData
    }
}

/// A load under way.
public protocol LoadOperation: Sendable {
    /// Stops it; no event comes after the one that may be under way. Harmless when it has finished.
    func cancel()

    /// Changes how urgent it is.
    func setPriority(_ priority: ImagePriority)

    /// Asks for ``LoadEvent/data(_:)`` from now on; the first holds all that has come so far.
    func deliverData()
}

/// What a loader says while it loads.
public enum LoadEvent: Sendable {
    /// So many bytes have come; the total is known where the server says so.
    case progress(received: Int64, expected: Int64?)
    /// The next bytes. Only when asked for.
    case data(Data)
    /// The end.
    case finished(Result<LoadedData, ImageError>)
}

/// The bytes of a URL, and what was said about them.
public struct LoadedData: Sendable {
    /// All of the bytes.
    public var data: Data
    /// The media type, as the server gave it.
    public var contentType: String?
    /// `ETag` (RFC 9110, 8.8.3).
    public var etag: String?
    /// `Last-Modified` (RFC 9110, 8.8.2).
    public var lastModified: String?
    /// `Cache-Control` (RFC 9111, 5.2).
    public var cacheControl: String?

    /// Makes the result of a load.
    public init(
        data: Data,
        contentType: String? = nil,
        etag: String? = nil,
        lastModified: String? = nil,
        cacheControl: String? = nil
    ) {
        self.data = data
        self.contentType = contentType
        self.etag = etag
        self.lastModified = lastModified
        self.cacheControl = cacheControl
    }
}
