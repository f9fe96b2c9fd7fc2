public import FoundationEssentials

/// A loaded image and where it came from.
public typealias ImageResponse = LoadResponse<WebImage>

/// The bytes of a URL and where they came from: see ``ImageManager/data(for:)``.
public typealias DataResponse = LoadResponse<Data>

/// Where the content of a response came from.
public enum LoadSource: Sendable {
    /// The memory cache, at no cost. It holds pixels, so bytes never come from it.
    case memory
    /// The disk cache.
    case disk
    /// The loader, over the network or from a file, a data URL or a resource.
    case loader
    /// The caches, after the server confirmed that the image is current.
    case revalidated
}

/// The result of a load: an image (``ImageResponse``) or bytes (``DataResponse``), with its source and metadata.
public struct LoadResponse<Content: Sendable>: Sendable {
    let content: Content
    /// The place that the content came from.
    public let source: LoadSource
    /// The URL that was requested, before redirects.
    public let url: URL
    /// The head of the server's response to this load, with its final URL; the head of the 304 if the server confirmed
    /// the cached copy. `nil` if no server was asked, as for an image from a cache or a file.
    public var head: ResponseHead? {
        get { boxedDetails?.value.head }
        set { details.head = newValue }
    }
    /// The times and sizes of the transfer, if there was one.
    public var metrics: TransferMetrics? {
        get { boxedDetails?.value.metrics }
        set { details.metrics = newValue }
    }
    /// How long reading, decoding and transforming took.
    public var durations: StageDurations {
        get { details.durations }
        set { details.durations = newValue }
    }
    /// Why the requested URL failed, if the content comes from a fallback (``ImageRequest/fallbackURLs``); `nil` otherwise.
    public internal(set) var fallbackError: ImageError? {
        get { boxedDetails?.value.fallbackError }
        set { details.fallbackError = newValue }
    }
    /// Why a cached copy was not revalidated, or the bytes of an image not loaded: the content may be stale. `nil` otherwise.
    public var refreshError: ImageError? {
        get { boxedDetails?.value.refreshError }
        set { details.refreshError = newValue }
    }
    /// Boxed, because a response from memory has no details, and a memory hit copies it several times.
    private var boxedDetails: Box<ResponseDetails>?
    var details: ResponseDetails {
        get { boxedDetails?.value ?? ResponseDetails() }
        set { boxedDetails = Box(newValue) }
    }

    init(_ content: Content, source: LoadSource, url: URL) {
        self.content = content
        self.source = source
        self.url = url
    }
}

extension LoadResponse where Content == WebImage {
    /// The whole image at the requested size, after its transformer.
    public var image: WebImage { content }

    /// The bytes of the file, with ``ImageRequest/includesData``. Also `nil` if no cache has them and they cannot be
    /// loaded again; ``refreshError`` then says why.
    public var data: Data? {
        get { boxedDetails?.value.data }
        set { details.data = newValue }
    }

    /// Creates a response, for your own interceptors and for tests.
    public init(image: WebImage, source: LoadSource, url: URL) {
        self.init(image, source: source, url: url)
    }

    func with(_ data: Data) -> ImageResponse {
        var response = self
        response.data = data
        return response
    }
}

extension LoadResponse where Content == Data {
    /// The bytes as loaded, which may not be an image.
    public var data: Data { content }
}

extension LoadResponse: CustomStringConvertible {
    /// The content, its source and its URL, which is printed without secrets and truncated if it is long.
    public var description: String { "\(content) from \(source) <\(url.textForMessages)>" }
}

/// What a response tells about its load.
struct ResponseDetails: Sendable {
    /// The bytes of the image's file.
    var data: Data?
    var head: ResponseHead?
    var metrics: TransferMetrics?
    var durations = StageDurations()
    var fallbackError: ImageError?
    var refreshError: ImageError?
}

/// How long the stages of a load took. A stage that was skipped, or shared with another load, took zero.
public struct StageDurations: Sendable, Hashable {
    /// The time for reading from the disk cache.
    public var reading: Duration = .zero
    /// The time for decoding.
    public var decoding: Duration = .zero
    /// The time for the transformer.
    public var transforming: Duration = .zero

    /// Creates durations of zero.
    package init() {}
}
