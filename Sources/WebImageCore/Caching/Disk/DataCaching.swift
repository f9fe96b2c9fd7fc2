public import FoundationEssentials

/// A store for the bytes of images, on disk or elsewhere.
///
/// Several threads of the I/O queue call it at a time. Every method may block except ``store(_:)`` and ``path(for:)``, which runs
/// on the thread that asks for the path.
public protocol DataCaching: Sendable {
    /// The entry of a key; `nil` if the entry is missing or damaged.
    func entry(for key: String) -> CacheEntry?

    /// The entry of a key with empty data, for caches that can read it without the bytes. Default: entry(for:).
    func metadata(for key: String) -> CacheEntry?

    /// Whether a key has an entry, damaged or not. Default: whether metadata(for:) returns an entry.
    func contains(_ key: String) -> Bool

    /// Accepts an entry. Readers find it from now on, although flush() may write it later. Must not block.
    func store(_ entry: CacheEntry)

    /// Writes the accepted entries. Default: does nothing, for caches that write in store(_:).
    func flush()

    /// Returns once the accepted entry of a key is written, by this call or another. Default: flush().
    func waitUntilWritten(_ key: String)

    /// Removes the entry of a key.
    func remove(_ key: String)

    /// Removes expired entries, and then the oldest while the cache exceeds its limit. Default: does nothing.
    func removeExpired()

    /// Removes every entry.
    func removeAll()

    /// The number and the size of the entries.
    var usage: CacheUsage { get }

    /// The path of a key's file, even if no file exists yet. Default: `nil`, for caches without files.
    func path(for key: String) -> String?
}

extension DataCaching {
    /// Reads the whole entry with ``entry(for:)``. Implement it if your cache can skip the bytes.
    public func metadata(for key: String) -> CacheEntry? { entry(for: key) }
    /// Reads the metadata with ``metadata(for:)``. Implement it if your cache knows its keys.
    public func contains(_ key: String) -> Bool { metadata(for: key) != nil }
    /// Does nothing, for caches that write within ``store(_:)``.
    public func flush() {}
    /// Writes all entries with ``flush()``. Implement it if your cache can write a single entry.
    public func waitUntilWritten(_ key: String) { flush() }
    /// Does nothing, for caches without a limit or with automatic removal.
    public func removeExpired() {}
    /// Returns `nil`, for caches without files.
    public func path(for key: String) -> String? { nil }
}

/// The bytes of an image in a cache, with their metadata.
public struct CacheEntry: Sendable, Equatable {
    /// The key, as ``ImageManager/cacheKey(for:)`` returns it for an original.
    public var key: String
    /// The bytes of the file: as the loader delivered them, or as a ``CacheSerializer`` replaced them.
    public var data: Data
    /// The server's metadata of the bytes.
    public var response: ResponseMetadata {
        get { boxedResponse.value }
        set { boxedResponse = Box(newValue) }
    }
    /// When the bytes were stored. A 304 response does not change it, so it identifies a version of the image. Your own cache may
    /// round it down to seconds.
    public var storedAt: Date
    /// A blurred version of the image, if the manager keeps them.
    public var thumbHash: ThumbHash?
    /// Your data about the image, see ``ImageCache/attachment(for:)``. The disk cache keeps at most 64 KiB.
    public var attachment: Data?
    /// How the bytes of a rendition are decoded; `nil` for an original.
    package var rendition: RenditionInfo?
    /// The bytes that the pixels of a rendition take in memory.
    var pixelByteCount: Int { rendition.map { $0.size.pixelCount.boundedProduct($0.isDeep ? 8 : 4) } ?? 0 }
    /// Whether the entry comes from a read-only directory, whose files an update of the app can replace without notice.
    var isBundled = false
    private var boxedResponse: Box<ResponseMetadata>

    /// The largest ``attachment`` in bytes: 65,536.
    package static let maximumAttachmentByteCount = 1 << 16

    /// Creates an entry to store in, or return from, your own cache.
    public init(key: String, data: Data, response: ResponseMetadata = ResponseMetadata(), storedAt: Date) {
        self.key = key
        self.data = data
        boxedResponse = Box(response)
        self.storedAt = storedAt
    }
}
