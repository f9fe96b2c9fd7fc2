/// What a load does differently from the default. Options that concern the widget are ignored by ImageManager.
public struct ImageOptions: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt32

    /// Makes a set from its bits.
    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Partial images are decoded and shown while the bytes arrive.
    public static let progressive = ImageOptions(rawValue: 1 << 0)
    /// Only the caches are asked; a miss ends in ImageError/Code/notInCache.
    public static let fromCacheOnly = ImageOptions(rawValue: 1 << 1)
    /// The caches are not asked, the result is stored in them all the same.
    public static let fromLoaderOnly = ImageOptions(rawValue: 1 << 2)
    /// Nothing of this load is written to the disk cache.
    public static let memoryCacheOnly = ImageOptions(rawValue: 1 << 3)
    /// A cached image is handed to the partial handler at once, and the server is asked whether it is still the right
    /// one, which costs one conditional request; the completion has the result. When the server cannot be asked, it has
    /// the cached image, and ImageResponse/refreshError says why.
    public static let refreshCached = ImageOptions(rawValue: 1 << 4)
    /// A failure that is remembered from before does not count.
    public static let retryFailed = ImageOptions(rawValue: 1 << 5)
    /// An image in the disk cache is good however old it is, whatever the server said about that.
    public static let ignoreFreshness = ImageOptions(rawValue: 1 << 6)
    /// The colours of a file are taken for sRGB, whatever its profile (ICC) says.
    public static let ignoreColorProfile = ImageOptions(rawValue: 1 << 7)
    /// Of an animated image only the first frame is decoded.
    public static let firstFrameOnly = ImageOptions(rawValue: 1 << 13)

    /// The load ends when what it stores is on disk, not before.
    public static let waitForStore = ImageOptions(rawValue: 1 << 14)

    /// The placeholder is shown only when the load has ended without an image.
    public static let delayPlaceholder = ImageOptions(rawValue: 1 << 8)
    /// The widget is left alone: the image is handed to the completion (and the partial handler), which sets it.
    public static let avoidAutoSetImage = ImageOptions(rawValue: 1 << 9)
    /// Without a placeholder, the widget keeps what it shows until the new image is there, instead of being cleared.
    public static let keepCurrentImage = ImageOptions(rawValue: 1 << 10)
    /// The image is decoded at its own size instead of at the size of the widget.
    public static let originalSize = ImageOptions(rawValue: 1 << 11)
    /// The load before goes on, for its completion and the caches; the widget shows nothing of it any more.
    public static let avoidAutoCancel = ImageOptions(rawValue: 1 << 15)
    /// The transition is shown for an image from memory, too.
    public static let forceTransition = ImageOptions(rawValue: 1 << 16)
    /// The completion is called when the transition is over.
    public static let waitForTransition = ImageOptions(rawValue: 1 << 17)
    /// A load is broken off while the widget is not mapped, and goes on when it is again; its completion waits.
    public static let pauseUnmapped = ImageOptions(rawValue: 1 << 18)
    /// The load starts at once instead of when the widget is mapped, for widgets that are shown later.
    public static let loadUnmapped = ImageOptions(rawValue: 1 << 12)
}
