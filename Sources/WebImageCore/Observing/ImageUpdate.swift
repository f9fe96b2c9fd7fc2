/// What becomes of a load, as ``ImageManager/updates(for:)`` tells it.
public enum ImageUpdate: Sendable {
    /// Bytes received so far, and in all where that is known.
    case progress(received: Int64, expected: Int64?)
    /// A partial picture, or a cached or smaller one that is shown until the load ends.
    case partial(WebImage)
    /// The end.
    case finished(Result<ImageResponse, ImageError>)
}
