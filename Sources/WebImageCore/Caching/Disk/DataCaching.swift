public import FoundationEssentials

/// A store for the bytes of images, on disk or wherever an app has room.
///
/// Several threads of the I/O queue call it at a time. Every method may block except ``store(_:)`` and ``path(for:)``, which is
/// called on the thread of its caller.
public protocol DataCaching: Sendable {
    /// The entry of a key; `nil` when there is none, or it is damaged.
    func entry(for key: String) -> CacheEntry?

    /// The entry of a key with empty data, for caches that read it faster so. Default: entry(for:).
    func metadata(for key: String) -> CacheEntry?

    /// Whether there is an entry of a key, damaged or not. Default: whether metadata(for:) returns one.
    func contains(_ key: String) -> Bool

    /// Accepts an entry, which is found from now on, although flush() may write it later. Must not block.
    func store(_ entry: CacheEntry)

    /// Writes the accepted entries. Default: does nothing, for caches that write in store(_:).
    func flush()

    /// Returns once the accepted entry of a key is written, by this call or another one. Default: flush().
    func waitUntilWritten(_ key: String)

    /// Removes the entry of a key.
    func remove(_ key: String)

    /// Removes entries that are too old, and the oldest ones when there are too many. Default: does nothing.
    func removeExpired()

    /// Removes every entry.
    func removeAll()

    /// The number and the size of the entries.
    var usage: CacheUsage { get }

    /// The path of a key's file, whether it exists or not. Default: `nil`, for caches without files.
    func path(for key: String) -> String?
}

extension DataCaching {
    /// Reads the whole entry with ``entry(for:)``. Implement it for a cache that can leave the bytes out.
    public func metadata(for key: String) -> CacheEntry? { entry(for: key) }
    /// Reads the metadata with ``metadata(for:)``. Implement it for a cache that knows its keys.
    public func contains(_ key: String) -> Bool { metadata(for: key) != nil }
    /// Does nothing, for caches that write within ``store(_:)``.
    public func flush() {}
    /// Writes all entries with ``flush()``. Implement it for a cache that can write one of them.
    public func waitUntilWritten(_ key: String) { flush() }
    /// Does nothing, for caches without a limit or with one that they keep by themselves.
    public func removeExpired() {}
    /// Returns `nil`, for caches without files.
    public func path(for key: String) -> String? { nil }
}

/// The bytes of an image in a cache, with what is known about them.
public struct CacheEntry: Sendable, Equatable {
    /// The key, as ``ImageManager/cacheKey(for:)`` returns it for an original.
    public var key: String
    /// The bytes of the file, as its loader delivered them.
    public var data: Data
    /// What the server said about the bytes.
    public var response: ResponseMetadata {
        get { boxedResponse.value }
        set { boxedResponse = Box(newValue) }
    }
    /// When the bytes were stored. A 304 response does not change it, so it tells versions of an image apart. A cache of an app may round
    /// it down to seconds.
    public var storedAt: Date
    /// A blurred version of the image, for managers that keep those.
    public var thumbHash: ThumbHash?
    /// Data of the app: ``ImageCache/attachment(for:)``. The disk cache keeps at most 64 KiB of it.
    public var attachment: Data?
    /// How the bytes of a rendition are decoded; `nil` for an original.
    package var rendition: RenditionInfo?
    /// Whether the entry lies in a directory of the app, which may bring another version without telling.
    var isBundled = false
    private var boxedResponse: Box<ResponseMetadata>

    /// The largest ``attachment`` in bytes: 65,536.
    package static let maximumAttachmentByteCount = 1 << 16

    /// Creates an entry for a cache of an app's own, or for one that is read from it.
    public init(key: String, data: Data, response: ResponseMetadata = ResponseMetadata(), storedAt: Date) {
        self.key = key
        self.data = data
        boxedResponse = Box(response)
        self.storedAt = storedAt
    }
}
