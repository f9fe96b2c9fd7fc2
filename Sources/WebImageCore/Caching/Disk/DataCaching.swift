public import FoundationEssentials

/// Keeps the bytes of images, on disk or wherever an app has room. Called on the I/O queue, by several threads at a
/// time: calls may block, but for store(_:).
public protocol DataCaching: Sendable {
    /// The entry of key; nil when there is none, or none that is sound.
    func entry(for key: String) -> CacheEntry?

    /// The same with no bytes in it, where that is quicker. Default: entry(for:).
    func description(of key: String) -> CacheEntry?

    /// Whether there is an entry of key, sound or not. Default: whether description(of:) gives one.
    func contains(_ key: String) -> Bool

    /// Takes an entry. From now on it is found, although it may be written later, by flush(). Must not block.
    func store(_ entry: CacheEntry)

    /// Writes what was taken. Default: nothing; for caches that have it already.
    func flush()

    /// Returns when the entry of key is written, whoever writes it. Default: flush().
    func flush(_ key: String)

    /// Removes the entry of key.
    func remove(_ key: String)

    /// Removes what is too old, and the oldest entries when there are too many. Default: nothing.
    func removeExpired()

    /// Removes every entry.
    func removeAll()

    /// What there is.
    var totals: CacheUsage { get }
}

extension DataCaching {
    /// entry(for:).
    public func description(of key: String) -> CacheEntry? { entry(for: key) }
    /// Whether description(of:) gives one.
    public func contains(_ key: String) -> Bool { description(of: key) != nil }
    /// Nothing.
    public func flush() {}
    /// flush().
    public func flush(_ key: String) { flush() }
    /// Nothing.
    public func removeExpired() {}
}

/// The bytes of an image as a cache keeps them, and what was said about them.
public struct CacheEntry: Sendable, Equatable {
    /// Under what it is found: the URL, for an image as it came.
    public var key: String
    /// The bytes.
    public var data: Data
    /// What the server said about them.
    public var response: ResponseMetadata
    /// When the bytes were stored; a 304 does not change it. Tells one version of an image from another.
    public var storedAt: Date
    /// A blurred version of the image, for managers that keep those.
    public var thumbHash: ThumbHash?
    /// For a decoded image: what its bytes are.
    package var result: RenditionInfo?

    /// Makes an entry.
    public init(key: String, data: Data, response: ResponseMetadata = ResponseMetadata(), storedAt: Date) {
        self.key = key
        self.data = data
        self.response = response
        self.storedAt = storedAt
    }
}
