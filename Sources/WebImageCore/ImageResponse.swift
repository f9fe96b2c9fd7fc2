public import FoundationEssentials

/// A loaded picture and where it came from.
public struct ImageResponse: Sendable {
    /// Where a picture came from.
    public enum Source: String, Sendable {
        /// The memory cache: no work was done.
        case memory
        /// The disk cache: the bytes were read and decoded.
        case disk
        /// The loader: the bytes came over the network, or from a file, a data URL or a resource.
        case loader
    }

    /// The picture.
    public let image: WebImage
    /// Where it came from.
    public let source: Source
    /// The URL that was asked for, not one that it was redirected to.
    public let url: URL

    /// Makes a response; loads make theirs, tests and custom managers make their own.
    public init(image: WebImage, source: Source, url: URL) {
        self.image = image
        self.source = source
        self.url = url
    }
}
