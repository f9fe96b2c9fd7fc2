public import FoundationEssentials

/// What to load and how: a value, cheap to copy, that says everything on which the resulting pixels depend.
public struct ImageRequest: Sendable {
    /// Where the image is: http, https, file, data or resource.
    public var url: URL
    /// See ImageOptions. Default: none.
    public var options: ImageOptions
    /// See ImagePriority. Default: normal.
    public var priority: ImagePriority
    /// The size to decode at. Default: the size of the file.
    public var decodeSize: DecodeSize
    /// What is done to the decoded image before it is cached in memory and shown. Default: nothing.
    public var transformer: ImageTransformer?
    /// Pixels of the file per application pixel. Default: from the name (@2x, @3x), else 1.
    public var scale: Double

    /// Decodes what it can, before the coders of the manager are asked. What it makes is kept apart from what they
    /// make, by the name of its type. Default: none.
    public var decoder: (any ImageDecoding)?
    /// Fetches the bytes instead of the loaders of the manager. Loads share transfers with those of the same loader
    /// only. Default: none.
    public var loader: (any DataLoading)? {
        get { rarities?.values.loader }
        set { change { $0.loader = newValue } }
    }
    /// Under what the image is cached, if not under its URL. Default: what the manager's CacheKeyFilter says.
    public var cacheKey: String?
    /// Tried one after the other when the image cannot be had. Default: none.
    public var fallbackURLs: [URL] {
        get { rarities?.values.fallbackURLs ?? [] }
        set { change { $0.fallbackURLs = newValue } }
    }
    /// Loaded instead while the network is metered. Default: none.
    public var lowDataURL: URL? {
        get { rarities?.values.lowDataURL }
        set { change { $0.lowDataURL = newValue } }
    }
    /// A small version, handed to the partial handler when it comes before the image itself. Default: none.
    public var previewURL: URL? {
        get { rarities?.values.previewURL }
        set { change { $0.previewURL = newValue } }
    }
    /// Whatever the app wants to find again in ImageTask/request; nothing depends on it. Default: none.
    public var userInfo: [String: any Sendable] {
        get { rarities?.values.userInfo ?? [:] }
        set { change { $0.userInfo = newValue } }
    }
    /// The format of a file that does not say itself what it is, such as TGA. Default: none.
    public var formatHint: ImageFormat? {
        get { rarities?.values.formatHint }
        set { change { $0.formatHint = newValue } }
    }
    /// How pixels are stored. Default: with alpha when the file has it, else without.
    public var pixelFormat: PixelBuffer.Format? {
        get { rarities?.values.pixelFormat }
        set { change { $0.pixelFormat = newValue } }
    }
    /// Whether the response has the bytes of the file, too: for sharing, saving, or reading what else is in it. Costs a
    /// look into the disk cache when the image itself is at hand. Default: no.
    public var wantsData = false
    /// Which caches are asked and written to. Default: all.
    public var caching = CachePolicy()
    /// How the bytes are asked for over the network: header fields, credentials, timeouts. Default: as the downloader
    /// does it.
    public var networkOptions: NetworkOptions {
        get { boxedNetworkOptions?.value ?? NetworkOptions() }
        set { boxedNetworkOptions = newValue == NetworkOptions() ? nil : Box(newValue) }
    }

    /// Most requests have none, and requests are copied a lot.
    private(set) var boxedNetworkOptions: Box<NetworkOptions>?
    /// The same.
    private var rarities: Rarities?

    /// Pixels per application pixel of the screen that the image is for. Default: not known.
    package var displayScale: Double?
    /// Whether a cached image up to twice as large may stand in for the size asked for. Bound widgets say yes, since
    /// they scale when they draw.
    package var acceptsLarger = false
    /// Run on the decode queue when the image is ready, so that showing it costs the main thread nothing.
    package var preparation: (any DisplayPreparation)?

    /// Makes a request for url.
    public init(
        url: URL,
        options: ImageOptions = [],
        priority: ImagePriority = .normal,
        decodeSize: DecodeSize = .original,
        transformer: ImageTransformer? = nil,
        scale: Double? = nil
    ) {
        self.url = url
        self.options = options
        self.priority = priority
        self.decodeSize = decodeSize
        self.transformer = transformer
        self.scale = scale.map { max($0, 1) } ?? Self.scale(inName: url)
    }

    private mutating func change(_ body: (inout Rarities.Values) -> Void) {
        var values = rarities?.values ?? Rarities.Values()
        body(&values)
        rarities = Rarities(values)
    }

    /// Whether both ask for the same pixels in the same way; who hears of it, and how urgent it is, does not count.
    package func isEquivalent(as other: ImageRequest) -> Bool {
        url == other.url && options == other.options && decodeSize == other.decodeSize && scale == other.scale
            && transformer?.key == other.transformer?.key && cacheKey == other.cacheKey && caching == other.caching
            && wantsData == other.wantsData && boxedNetworkOptions == other.boxedNetworkOptions
            && decoder.map { ObjectIdentifier(type(of: $0)) } == other.decoder.map { ObjectIdentifier(type(of: $0)) }
            && (rarities === other.rarities || hasSameRarities(as: other))
    }

    private func hasSameRarities(as other: ImageRequest) -> Bool {
        fallbackURLs == other.fallbackURLs && lowDataURL == other.lowDataURL && previewURL == other.previewURL
            && formatHint == other.formatHint && pixelFormat == other.pixelFormat
            && loader.map { $0.identity } == other.loader.map { $0.identity }
    }

    /// The name of the image in the caches.
    package var sourceKey: String { cacheKey ?? url.absoluteString }

    /// 2 for photo@2x.png, 3 for photo@3x.png, else 1.
    static func scale(inName url: URL) -> Double {
        // Few URLs get further, and each request is asked.
        guard url.absoluteString.utf8.contains(UInt8(ascii: "@")), url.scheme != "data" else { return 1 }
        let name = url.deletingPathExtension().lastPathComponent
        if name.hasSuffix("@2x") { return 2 }
        if name.hasSuffix("@3x") { return 3 }
        return 1
    }
}

/// What few requests say.
private final class Rarities: Sendable {
    struct Values: Sendable {
        var fallbackURLs: [URL] = []
        var loader: (any DataLoading)?
        var lowDataURL: URL?
        var previewURL: URL?
        var userInfo: [String: any Sendable] = [:]
        var formatHint: ImageFormat?
        var pixelFormat: PixelBuffer.Format?
    }

    let values: Values

    init(_ values: Values) {
        self.values = values
    }
}

/// A large value that is rarely there, in little space.
final class Box<Value: Hashable & Sendable>: Hashable, Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }

    static func == (lhs: Box, rhs: Box) -> Bool { lhs === rhs || lhs.value == rhs.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
