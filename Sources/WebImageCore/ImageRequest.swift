public import FoundationEssentials

/// What to load and how: a value that says everything the resulting pixels depend on.
public struct ImageRequest: Hashable, Sendable {
    /// What a load delivers before it is complete.
    public enum Loading: Hashable, Sendable {
        /// Only the complete image. The default.
        case complete
        /// Partial images as well, while the bytes arrive; the first one of a JPEG is the thumbnail in its head, also where all
        /// bytes are there at once.
        case progressive
    }

    /// What the failure of an earlier load of the URL means, which the manager remembers for `failureCacheDuration`.
    public enum RememberedFailure: Hashable, Sendable {
        /// The load fails with the same error. The default.
        case counts
        /// The loader is asked again.
        case ignored
    }

    /// The URL of the image: `http`, `https`, `file`, `data` or `resource`.
    public var url: URL {
        didSet { if cacheKey == nil, url != oldValue { scaleInName = Self.scale(inName: url.absoluteString) } }
    }
    /// How urgent the load is. Default: normal.
    public var priority: ImagePriority
    /// Whether partial images are decoded while the bytes arrive. Default: only the complete image.
    public var loading: Loading
    /// Whether a load fails at once because its URL has failed before. Default: it counts.
    public var rememberedFailure: RememberedFailure
    /// How the caches and the server are used. Default: as RFC 9111 says.
    public var cachePolicy: CachePolicy
    /// The cache tiers that are read and written. Default: all.
    public var cacheAccess = CacheAccess()
    /// The size to decode at. Default: `nil`, which is the size of the widget in pixels of its screen when a widget
    /// shows the image, else the size of the file.
    public var decodeSize: DecodeSize?
    /// The transformer that changes the decoded image before it is cached in memory and shown. Default: none.
    public var transformer: ImageTransformer?
    /// Pixels of the file per application pixel, at least 1. Default: from the name in the cache key or URL (`@2x`,
    /// `@1.5x`), else 1.
    public var scale: Double {
        get { ownScale ?? scaleInName }
        set { ownScale = WebImage.validScale(newValue) }
    }
    /// The key of the image in the caches. Default: what the manager's ``CacheKeyFilter`` returns, else the URL.
    ///
    /// Texts that Swift takes for equal, such as "é" as one character or as "e" with an accent, are one key in memory and two files on
    /// disk. Normalize what people or file systems have named.
    public var cacheKey: String? {
        didSet { if cacheKey != oldValue { scaleInName = Self.scale(inName: cacheKey ?? url.absoluteString) } }
    }
    /// Whether only the first frame of an animated image is decoded. Default: no.
    public var isFirstFrameOnly = false
    /// Whether colors are converted to sRGB from the profile (ICC) of the file; otherwise they are taken for sRGB.
    /// Default: yes.
    public var convertsToSRGB = true
    /// Whether the response also has the bytes of the file, for sharing, saving, or reading its metadata. A memory hit
    /// then costs a look-up in the disk cache, and a load when the bytes are not there, such as those of a file. Default:
    /// no.
    public var includesData = false

    /// The decoder that is asked before those of the manager. Its images are cached apart from theirs, by the name of
    /// its type. Default: none.
    public var decoder: (any ImageDecoding)? {
        get { extended.decoder?.value }
        set { change { $0.decoder = newValue.map(ComparedByType.init) } }
    }
    /// The loader that fetches the bytes instead of the manager's. Loads share transfers only with those of the same
    /// loader. Default: none.
    public var loader: (any DataLoading)? {
        get { extended.loader?.value }
        set { change { $0.loader = newValue.map(ComparedByIdentity.init) } }
    }
    /// URLs that are tried in order when the image cannot be loaded, for whatever reason, after its retries. The load succeeds with the
    /// first of them that loads, and ``LoadResponse/fallbackError`` says why it is not the image. A widget that could not reach the
    /// server loads the image itself once there is a network again, and after any transient error when it is set again. Default: none.
    public var fallbackURLs: [URL] {
        get { extended.fallbackURLs }
        set { change { $0.fallbackURLs = newValue } }
    }
    /// The URL that is loaded instead while the network is metered. Default: none.
    public var lowDataURL: URL? {
        get { extended.lowDataURL }
        set { change { $0.lowDataURL = newValue } }
    }
    /// The URL of a small version, which the partial handler receives if it arrives before the image has loaded or failed. Default: none.
    public var previewURL: URL? {
        get { extended.previewURL }
        set { change { $0.previewURL = newValue } }
    }
    /// The files of the image in several sizes, of which the one that fits is loaded instead of ``url``. Default: none.
    public var variants: ImageVariants? {
        get { extended.variants }
        set { change { $0.variants = newValue } }
    }
    /// How the partial images of a load with ``Loading/progressive`` are made. Default: every 0.1 seconds, not blurred.
    public var progressiveOptions: ProgressiveOptions {
        get { extended.progressiveOptions }
        set { change { $0.progressiveOptions = newValue } }
    }
    /// The format of a file that cannot be recognized by its content. Default: none.
    public var formatHint: ImageFormat? {
        get { extended.formatHint }
        set { change { $0.formatHint = newValue } }
    }
    /// Values for an app's own decoder, which finds them in ``DecodeOptions/decoderParameters``, such as the page of a document.
    /// Images of other values are cached apart. Default: none.
    public var decoderParameters: [String: String] {
        get { extended.decoderParameters }
        set { change { $0.decoderParameters = newValue } }
    }
    /// Whether the pixels are turned upright by the EXIF orientation of the file; otherwise they are as they are stored, and
    /// ``WebImage/orientation`` says how they would be turned. AVIF, HEIC and JPEG XL are always upright, since their
    /// decoders turn them. Default: yes.
    public var appliesOrientation: Bool {
        get { extended.appliesOrientation }
        set { change { $0.appliesOrientation = newValue } }
    }
    /// The format of the decoded pixels. Default: with alpha if the file has it.
    public var pixelFormat: PixelBuffer.Format? {
        get { extended.pixelFormat }
        set { change { $0.pixelFormat = newValue } }
    }
    /// Header fields, credentials and timeouts of this request. Default: those of the downloader.
    public var networkOptions: NetworkOptions {
        get { extended.networkOptions?.value ?? NetworkOptions() }
        set { change { $0.networkOptions = newValue == NetworkOptions() ? nil : Box(newValue) } }
    }
    /// How long the caches may serve the image. Default: as its server and the configuration say.
    public var cacheLifetime: CacheLifetime {
        get { extended.cacheLifetime }
        set { change { $0.cacheLifetime = newValue } }
    }
    /// Values of the app, found again in ``LoadTask/request``. Nothing depends on them. Default: none.
    public var userInfo: [String: any Sendable] {
        get { extended.userInfo.value }
        set { change { $0.userInfo.value = newValue } }
    }

    /// The attributes that few requests have, in one box, since requests are copied often.
    private var storage = Storage()

    private var ownScale: Double?
    private var scaleInName: Double
    /// Pixels per application pixel of the screen that the image is for. Default: not known.
    package var displayScale: Double?
    /// Whether a cached image up to twice as large may serve instead of the size asked for. Bound widgets accept it,
    /// since they scale when they draw.
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
        cachePolicy: CachePolicy = .standard,
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

    /// Whether one of the attributes in the box was ever set; reading one of them copies all.
    var hasRareAttributes: Bool { storage.box != nil }

    private mutating func change(_ body: (inout ExtendedAttributes) -> Void) {
        var values = extended
        body(&values)
        storage = Storage(box: Box(values))
    }

    /// The file that was chosen among the ``variants``, or among those that a server makes of the image.
    var variantChoice: VariantChoice? {
        get { extended.variantChoice }
        set { change { $0.variantChoice = newValue } }
    }

    /// The size for which a file is chosen among the ``variants``, if the image is decoded at another one.
    var variantSize: DecodeSize? {
        get { extended.variantSize }
        set { change { $0.variantSize = newValue } }
    }

    /// Makes the request one for another file of the same image.
    /// - Parameters:
    ///   - key: The key of the file in the caches; `nil` for its URL.
    ///   - scale: The scale of the file; `nil` for that in the name of the image.
    mutating func setFile(_ url: URL, key: String?, scale: Double?) {
        let named = scaleInName
        cacheKey = key
        self.url = url
        scaleInName = scale ?? named
    }

    /// How long the image is fresh by the request.
    var diskLifetime: Duration? { hasRareAttributes ? cacheLifetime.disk : nil }

    /// How long the image serves from memory by the request.
    var memoryLifetime: Duration? { hasRareAttributes ? cacheLifetime.memory : nil }

    /// The network options in their box, or `nil` if they are the default.
    var boxedNetworkOptions: Box<NetworkOptions>? { storage.box?.value.networkOptions }

    /// The size to decode at when no widget has a say. What is cut to a square fills the box.
    var resolvedDecodeSize: DecodeSize {
        if case .contain(let box) = decodeSize, transformer?.steps.first is SquareStep {
            let side = min(box.width, box.height)
            return .cover(PixelSize(width: side, height: side))
        }
        return decodeSize ?? .original
    }

    /// The tiers that may serve the load, which are none when it reloads.
    var readTiers: CacheTiers { cachePolicy.readsCaches ? cacheAccess.reads : [] }

    /// Whether both ask for the same pixels in the same way. Urgency and `userInfo` do not count.
    package func isEquivalent(to other: ImageRequest) -> Bool {
        var same = self
        same.priority = other.priority
        return same == other
    }

    /// The name of the image in the caches.
    package var sourceKey: String { cacheKey ?? url.textForKeys }
}

/// The attributes that few requests have.
private struct ExtendedAttributes: Hashable, Sendable {
    static let none = ExtendedAttributes()

    var decoder: ComparedByType<any ImageDecoding>?
    var loader: ComparedByIdentity?
    var fallbackURLs: [URL] = []
    var lowDataURL: URL?
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

/// The box of the extended attributes, absent while all of them have their default values.
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

/// A loader that equals itself.
private struct ComparedByIdentity: Hashable, Sendable {
    let value: any DataLoading

    static func == (lhs: Self, rhs: Self) -> Bool { lhs.value.identity == rhs.value.identity }
    func hash(into hasher: inout Hasher) { hasher.combine(value.identity) }
}

/// A value that requests carry and that makes no difference between them.
private struct Uncompared<Value: Sendable>: Hashable, Sendable {
    var value: Value

    static func == (lhs: Self, rhs: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}

/// A URL or an ``ImageRequest``: what every loading call takes.
public protocol ImageRequestConvertible: Sendable {
    /// The request to load. That of a URL has the default values of ``ImageRequest``.
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

// What is often passed in place of a URL, so that the compiler says what to write.

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
