/// What only WebP has to choose when an image is written. Values outside of their range count as the nearest one.
public struct WebPEncodeOptions: Sendable, Hashable {
    /// The time that is spent on a smaller file: 0, the least, to 6. Default: 4.
    public var effort = 4
    /// The size in bytes that a lossy file is to have, about. ``EncodeOptions/maximumByteCount`` is a limit that holds, and takes more
    /// time. Default: none, the quality decides.
    public var targetByteCount: Int?
    /// The quality of the alpha channel of a lossy file, 0 to 1. Default: 1, without loss.
    public var alphaQuality = 1.0
    /// How much a lossless file keeps of the image, 0 to 1: below 1, colors are changed a little where that makes the file
    /// smaller. Default: 1, everything.
    public var losslessFidelity = 1.0
    /// Whether edges between colors stay sharp in a lossy file, which takes more time. Default: no.
    public var usesSharpYUV = false
    /// Whether the file has the ICC profile of its colors, sRGB, for programs that take files without one for something else. It
    /// takes half a kilobyte. Default: no, since files without a profile are sRGB on the web.
    public var includesColorProfile = false

    /// Creates the default settings of libwebp.
    public init() {}
}
