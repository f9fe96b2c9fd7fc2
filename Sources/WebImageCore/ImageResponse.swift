public import FoundationEssentials

/// A loaded image and where it came from.
public struct ImageResponse: Sendable {
    /// Where an image came from.
    public enum Source: String, Sendable {
        /// The memory cache: no work was done.
        case memory
        /// The disk cache: the bytes were read and decoded.
        case disk
        /// The loader: the bytes came over the network, or from a file, a data URL or a resource.
        case loader
        /// The caches, after the server said that the image is still the right one.
        case revalidated
    }

    /// The image.
    public let image: WebImage
    /// Where it came from.
    public let source: Source
    /// The URL that was asked for, not one that it was redirected to.
    public let url: URL
    /// The bytes of the file, with ImageRequest/wantsData; nil also when no cache keeps them.
    public var data: Data?
    /// How the transfer went, if there was one.
    public var metrics: TransferMetrics?
    /// How long the other stages took.
    public var durations = StageDurations()
    /// Why the server could not be asked whether a cached image is still the right one; it may be an old one.
    public var refreshError: ImageError?

    /// Makes a response; loads make theirs, tests and custom managers make their own.
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

/// How long the stages of a load took. A stage that was skipped, or whose work another load did, has zero.
public struct StageDurations: Sendable, Hashable {
    /// The time for reading the disk cache.
    public var reading: Duration = .zero
    /// The time for decoding.
    public var decoding: Duration = .zero
    /// The time for the transformer.
    public var transforming: Duration = .zero

    /// Makes durations of zero.
    public init() {}
}
