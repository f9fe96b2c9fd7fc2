public import FoundationEssentials

/// What to load and how. A request contains everything that the resulting pixels depend on.
public struct ImageRequest: Hashable, Sendable {
    /// Which images a load delivers.
    public enum Loading: Hashable, Sendable {
        /// Only the complete image. The default.
        case complete
        /// Also partial images while the bytes arrive. The first one of a JPEG is the thumbnail in its head, even if
        /// all bytes are already there.
        case progressive
    }

    /// How a load treats an earlier failure of its URL, which the manager remembers for `failureCacheDuration`.
    public enum RememberedFailure: Hashable, Sendable {
        /// The load fails with the same error. The default.
        case counts
        /// The loader is asked again.
        case ignored
    }

    /// The URL of the image: `http`, `https`, `file`, `data` or `resource`, or any scheme that a loader of yours accepts.
    public var url: URL {
        didSet { if cacheKey == nil, url != oldValue { scaleInName = Self.scale(inName: url.absoluteString) } }
    }
    /// The urgency of the load. Default: normal.
    public var priority: ImagePriority
    /// Whether partial images are decoded while the bytes arrive. Default: only the complete image.
    public var loading: Loading
    /// Whether the load fails at once if its URL has failed before. Default: it does.
    public var rememberedFailure: RememberedFailure
    /// How the caches and the server are used. Default: as RFC 9111 specifies.
    public var cachePolicy: ImageRequest.CachePolicy
    /// The cache tiers that are read and written. Default: all.
    public var cacheAccess = CacheAccess()
    /// The size to decode at. Default: `nil`, which is the size of the widget in device pixels if a widget shows the
    /// image, else the size of the file.
    public var decodeSize: DecodeSize?
    /// The transformer that changes the decoded image before it is cached in memory and shown. Default: none.
    public var transformer: ImageTransformer?
    /// Pixels of the file per application pixel, at least 1. Default: stated by the name in the cache key or URL
    /// (`@2x`, `@1.5x`), else 1.
    public var scale: Double {
        get { ownScale ?? scaleInName }
        set { ownScale = WebImage.validScale(newValue) }
    }
    /// The key of the image in the caches. Default: the result of the manager's ``CacheKeyFilter``, else the URL.
    ///
    /// Texts that Swift considers equal, such as "é" as one character or as "e" with an accent, are one key in memory
    /// but two files on disk. Normalize names from users or file systems.
    public var cacheKey: String? {
        didSet { if cacheKey != oldValue { scaleInName = Self.scale(inName: cacheKey ?? url.absoluteString) } }
    }
    /// Whether only the first frame of an animated image is decoded. Default: no.
    public var isFirstFrameOnly = false
    /// Whether colors are converted to sRGB from the profile (ICC) of the file. If not, they are interpreted as sRGB.
    /// Default: yes.
    public var convertsToSRGB = true
    /// Whether the response includes the bytes of the file, for sharing, saving, or reading its metadata. A memory hit
    /// then costs a look-up in the disk cache, and a load if the bytes are not there, as for a local file. Default: no.
    public var includesData = false

    /// The decoder that is asked before those of the manager. Its images are cached separately, by the name of its
    /// type. Default: none.
    public var decoder: (any ImageDecoding)? {
        get { extended.decoder?.value }
        set { change { $0.decoder = newValue.map(ComparedByType.init) } }
    }
    /// The loader that fetches the bytes instead of the manager's loaders. Loads share transfers only with loads of the
    /// same loader. Default: none.
    public var loader: (any DataLoading)? {
        get { extended.loader?.value }
        set { change { $0.loader = newValue.map(ComparedByIdentity.init) } }
    }
    /// URLs that are tried in order if the image cannot be loaded for any reason, after its retries. The load succeeds with the
    /// first one that loads, and ``LoadResponse/fallbackError`` says why the image failed. A widget that could not reach the server
    /// loads the image itself when the network is back, and after any transient error if you set it again. Default: none.
    public var fallbackURLs: [URL] {
        get { extended.fallbackURLs }
        set { change { $0.fallbackURLs = newValue } }
    }
    /// The URL that is loaded instead while the network is metered. Default: none.
    public var lowDataURL: URL? {
        get { storage.box?.value.lowDataURL }
        set { change { $0.lowDataURL = newValue } }
    }
    /// The URL that a widget loads instead while the style of the app is dark, which libadwaita says, or else GTK's settings or the name
    /// of its theme; your own style sheet does not count. When the style changes, the widget keeps the image until it has the other
    /// one, which it takes from memory at once. ``previewURL``, ``lowDataURL`` and ``variants`` are only for ``url``.
    /// If ``cacheKey`` is set, "dark " precedes it. Loads by a manager or a zoom view ignore this URL. Default: none.
    public var darkURL: URL? {
        get { storage.box?.value.darkURL }
        set { change { $0.darkURL = newValue } }
    }
    /// The URL of a small version. The partial handler receives it if it arrives before the load of the image ends. Default: none.
    public var previewURL: URL? {
        get { extended.previewURL }
        set { change { $0.previewURL = newValue } }
    }
    /// The files of the image in several sizes. The one that fits is loaded instead of ``url``. Default: none.
    public var variants: ImageVariants? {
        get { extended.variants }
        set { change { $0.variants = newValue } }
    }
    /// How the partial images of ``Loading/progressive`` are made. Default: every 0.1 seconds, not blurred.
    public var progressiveOptions: ProgressiveOptions {
        get { extended.progressiveOptions }
        set { change { $0.progressiveOptions = newValue } }
    }
    /// The format of a file that cannot be recognized by its content. Default: none.
    public var formatHint: ImageFormat? {
        get { extended.formatHint }
        set { change { $0.formatHint = newValue } }
    }
    /// Values for your own decoder, available in ``DecodeOptions/decoderParameters``, such as the page of a document.
    /// Images with other values are cached separately. Default: none.
    public var decoderParameters: [String: String] {
        get { extended.decoderParameters }
        set { change { $0.decoderParameters = newValue } }
    }
    /// Whether the pixels are turned upright by the EXIF orientation of the file. If not, they stay as stored, and
    /// ``WebImage/orientation`` says how to turn them. AVIF, HEIC and JPEG XL are always upright, because their
    /// decoders turn them. Default: yes.
    public var appliesOrientation: Bool {
        get { extended.appliesOrientation }
        set { change { $0.appliesOrientation = newValue } }
    }
    /// The format of the decoded pixels. Default: with alpha if the file has alpha.
    public var pixelFormat: PixelBuffer.Format? {
        get { extended.pixelFormat }
        set { change { $0.pixelFormat = newValue } }
    }
    /// Header fields, credentials and timeouts of this request. Default: the settings of the downloader.
    public var networkOptions: NetworkOptions {
        get { extended.networkOptions?.value ?? NetworkOptions() }
        set { change { $0.networkOptions = newValue == NetworkOptions() ? nil : Box(newValue) } }
    }
    /// How long the caches may use the image. Default: as the server and the configuration say.
    public var cacheLifetime: CacheLifetime {
        get { extended.cacheLifetime }
        set { change { $0.cacheLifetime = newValue } }
    }
    /// Your own values, which you find again in ``LoadTask/request``. They have no effect. Default: none.
    public var userInfo: [String: any Sendable] {
        get { extended.userInfo.value }
        set { change { $0.userInfo.value = newValue } }
    }

    /// The rarely used attributes, in one box because requests are copied often.
    private var storage = Storage()

    private var ownScale: Double?
    private var scaleInName: Double
    /// Pixels per application pixel of the target screen. Default: not known.
    package var displayScale: Double?
    /// Whether a cached image up to twice as large may be used instead of the requested size. Bound widgets accept it,
    /// because they scale when drawing.
    package var acceptsLarger = false
    /// Work on the decode queue that makes a decoded image cheap to show on the main thread.
    package var preparation: (any DisplayPreparation)? {
        get { uncompared.value }
        set { uncompared.value = newValue }
    }
    private var uncompared = Uncompared<(any DisplayPreparation)?>(value: nil)

    /// Creates a request for a URL.
    public init(
        url: URL,
        priority: ImagePriority = .normal,
        loading: Loading = .complete,
        rememberedFailure: RememberedFailure = .counts,
        cachePolicy: ImageRequest.CachePolicy = .standard,
        decodeSize: DecodeSize? = nil,
        transformer: ImageTransformer? = nil,
        scale: Double? = nil
    ) {
        self.url = url
        self.priority = priority
        self.loading = loading
        self.rememberedFailure = rememberedFailure
        self.cachePolicy = cachePolicy
        self.decodeSize = decodeSize
        self.transformer = transformer
        ownScale = scale.map(WebImage.validScale)
        scaleInName = Self.scale(inName: url.absoluteString)
    }

    private var extended: ExtendedAttributes { storage.value }

    /// Whether an attribute in the box was ever set. Reading one of them copies all.
    var hasRareAttributes: Bool { storage.box != nil }

    private mutating func change(_ body: (inout ExtendedAttributes) -> Void) {
        var values = extended
        body(&values)
        storage = Storage(box: Box(values))
    }

    /// The file chosen among the ``variants``, or among the sizes that a server offers.
    var variantChoice: VariantChoice? {
        get { extended.variantChoice }
        set { change { $0.variantChoice = newValue } }
    }

    /// The size that a file is chosen for among the ``variants``, if the image is decoded at another size.
    var variantSize: DecodeSize? {
        get { extended.variantSize }
        set { change { $0.variantSize = newValue } }
    }

    /// Turns the request into one for another file of the same image.
    /// - Parameters:
    ///   - key: The key of the file in the caches; `nil` for its URL.
    ///   - scale: The scale of the file; `nil` for the scale in the name of the image.
    mutating func setFile(_ url: URL, key: String?, scale: Double?) {
        let named = scaleInName
        cacheKey = key
        self.url = url
        scaleInName = scale ?? named
    }

    /// How long the image is fresh on disk, as set on the request.
    var diskLifetime: Duration? { hasRareAttributes ? cacheLifetime.disk : nil }

    /// How long memory may use the image, as set on the request.
    var memoryLifetime: Duration? { hasRareAttributes ? cacheLifetime.memory : nil }

    /// The network options in their box; `nil` if they are the default.
    var boxedNetworkOptions: Box<NetworkOptions>? { storage.box?.value.networkOptions }

    /// The size to decode at if no widget sets one. An image that is cut to a square fills the box, and one that is cut to another
    /// shape fills that shape: what fits in a box of this shape would be too small and enlarged.
    var resolvedDecodeSize: DecodeSize {
        guard case .contain(let box) = decodeSize else { return decodeSize ?? .original }
        let (first, side) = (transformer?.steps.first, min(box.width, box.height))
        if first is SquareStep { return .cover(PixelSize(width: side, height: side)) }
        if let resize = first as? ResizeStep, resize.mode == .cover, !resize.size.isEmpty { return .cover(resize.size) }
        return .contain(box)
    }

    /// The tiers that the load may be answered from; none if it reloads.
    var readTiers: CacheTiers { cachePolicy.readsCaches ? cacheAccess.reads : [] }

    /// Whether both requests ask for the same pixels in the same way. Priority and `userInfo` do not count.
    package func isEquivalent(to other: ImageRequest) -> Bool {
        var same = self
        same.priority = other.priority
        return same == other
    }

    /// The name of the image in the caches.
    package var sourceKey: String { cacheKey ?? url.textForKeys }
}

/// The rarely used attributes.
private struct ExtendedAttributes: Hashable, Sendable {
    static let none = ExtendedAttributes()

    var decoder: ComparedByType<any ImageDecoding>?
    var loader: ComparedByIdentity?
    var fallbackURLs: [URL] = []
    var lowDataURL: URL?
    var darkURL: URL?
    var previewURL: URL?
    var progressiveOptions = ProgressiveOptions()
    var variants: ImageVariants?
    var variantChoice: VariantChoice?
    var variantSize: DecodeSize?
    var formatHint: ImageFormat?
    var decoderParameters: [String: String] = [:]
    var appliesOrientation = true
    var pixelFormat: PixelBuffer.Format?
    var networkOptions: Box<NetworkOptions>?
    var cacheLifetime = CacheLifetime()
    var userInfo = Uncompared<[String: any Sendable]>(value: [:])
}

/// The box of the rarely used attributes; `nil` while all of them have their default values.
private struct Storage: Hashable, Sendable {
    var box: Box<ExtendedAttributes>?

    var value: ExtendedAttributes { box?.value ?? .none }

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.box === rhs.box || lhs.value == rhs.value }
    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A value that equals every other value of its dynamic type.
private struct ComparedByType<Value: Sendable>: Hashable, Sendable {
    let value: Value

    static func == (lhs: Self, rhs: Self) -> Bool { type(of: lhs.value as Any) == type(of: rhs.value as Any) }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(type(of: value as Any))) }
}

/// A loader that equals only itself.
private struct ComparedByIdentity: Hashable, Sendable {
    let value: any DataLoading

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.value.identity == rhs.value.identity }
    func hash(into hasher: inout Hasher) { hasher.combine(value.identity) }
}

/// A value of a request that is ignored in comparisons.
private struct Uncompared<Value: Sendable>: Hashable, Sendable {
    var value: Value

    static func == (lhs: Self, rhs: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// A URL or an ``ImageRequest``: the argument of every loading call.
public protocol ImageRequestConvertible: Sendable {
    /// The request to load. A URL yields a request with the default values of ``ImageRequest``.
    var imageRequest: ImageRequest { get }
}

extension ImageRequest: ImageRequestConvertible {
    /// This request, unchanged.
    public var imageRequest: ImageRequest { self }
}

extension URL: ImageRequestConvertible {
    /// A request for the image at this URL, with default values for everything else.
    public var imageRequest: ImageRequest { ImageRequest(url: self) }
}

// Types that are often passed in place of a URL, so that the compiler says what to write instead.

/// A string is no URL.
@available(*, unavailable, message: "write URL(string: text), or URL(fileURLWithPath: path) for a file")
extension String: ImageRequestConvertible {
    /// Unavailable.
    public var imageRequest: ImageRequest { fatalError("A string is no URL") }
}

/// An image has nothing to load.
@available(*, unavailable, message: "write setImage(image) for an image that the app has")
extension WebImage: ImageRequestConvertible {
    /// Unavailable.
    public var imageRequest: ImageRequest { fatalError("An image has nothing to load") }
}
