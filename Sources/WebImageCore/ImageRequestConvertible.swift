public import FoundationEssentials

/// A URL or an ``ImageRequest``: what every loading call takes.
public protocol ImageRequestConvertible: Sendable {
    /// The request to load. That of a URL has the default values of ``ImageRequest``.
    var imageRequest: ImageRequest { get }
}

extension ImageRequest: ImageRequestConvertible {
    /// The request itself.
    public var imageRequest: ImageRequest { self }
}

extension URL: ImageRequestConvertible {
    /// A request for the image at this URL, with default values for everything else.
    public var imageRequest: ImageRequest { ImageRequest(url: self) }
}
