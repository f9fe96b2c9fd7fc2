public import FoundationEssentials

/// A loaded image and where it came from.
public struct ImageResponse: Sendable {
    /// Where an image came from.
    public enum Source: Sendable {
        /// The memory cache, at no cost.
        case memory
        /// The disk cache, read and decoded.
        case disk
        /// The loader, over the network or from a file, a data URL or a resource.
        case loader
        /// The caches, after the server confirmed that the image is current.
        case revalidated
    }

    /// The whole image at the requested size, after its transformer.
    public let image: WebImage
    /// The place that the image came from.
    public let source: Source
    /// The URL that was requested, not one that it redirects to.
    public let url: URL
    /// The bytes of the file, with ``ImageRequest/includesData``; `nil` also when no cache keeps them and they cannot
    /// be loaded again: ``refreshError`` says why.
    public var data: Data?
    /// The head of what the server has answered to this load, with its final URL; that of a 304 where it has confirmed the cached
    /// image. `nil` when no server was asked, as for an image from a cache or a file.
    public var head: ResponseHead? {
        get { boxedHead?.value }
        set { boxedHead = newValue.map(Box.init) }
    }
    /// The times and sizes of the transfer, if there was one.
    public var metrics: TransferMetrics? {
        get { boxedMetrics?.value }
        set { boxedMetrics = newValue.map(Box.init) }
    }
    /// The durations of the other stages.
    public var durations = StageDurations()
    /// The error of the URL that was requested, when the image is that of a fallback (``ImageRequest/fallbackURLs``); `nil` otherwise.
    public internal(set) var fallbackError: ImageError?
    /// The error that kept the cached image from being revalidated, or its ``data`` from being loaded. The image may be
    /// stale.
    public var refreshError: ImageError?
    private var boxedHead: Box<ResponseHead>?
    private var boxedMetrics: Box<TransferMetrics>?

    /// Makes a response, for interceptors that answer themselves and for tests.
    public init(image: WebImage, source: Source, url: URL) {
        self.image = image
        self.source = source
        self.url = url
    }

    func with(_ data: Data) -> ImageResponse {
        var response = self
        response.data = data
        return response
    }
}

extension ImageResponse: CustomStringConvertible {
    /// The image, its source and its URL, which is without what may be secret and truncated when it is long.
    public var description: String { "\(image) from \(source) <\(url.textForMessages)>" }
}

/// How long the stages of a load took. A stage that was skipped, or whose work another load did, has zero.
public struct StageDurations: Sendable, Hashable {
    /// The time for reading the disk cache.
    public var reading: Duration = .zero
    /// The time for decoding.
    public var decoding: Duration = .zero
    /// The time for the transformer.
    public var transforming: Duration = .zero

    /// Makes durations of zero.
    package init() {}
}
