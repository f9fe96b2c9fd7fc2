public import FoundationEssentials

/// A file in a cache, without its bytes.
public struct CachedFile: Sendable, Hashable, Identifiable {
    /// Which file it is. An image has one for its original and one for each rendition. A file that replaces another one has the same
    /// `id`, and is not equal to it.
    public struct ID: Sendable, Hashable {
        /// The key of the entry: that of the image, and for a rendition which one it is.
        let key: String
    }

    /// The file among all those of a manager.
    public let id: ID
    /// The key of the image, which its original and its renditions have in common.
    public let key: String
    /// The size in bytes. On disk that is the size of its blocks.
    public let byteCount: Int
    /// When the file was stored. A 304 response stores it anew.
    public let storedAt: Date
    /// The size of a rendition's pixels; `nil` for an original.
    public let pixelSize: PixelSize?
    /// Whether the file is an image as it was decoded at a size, and perhaps transformed. The others are originals.
    public let isRendition: Bool

    /// Makes the file of a cache of an app's own.
    public init(key: String, byteCount: Int, storedAt: Date) {
        id = ID(key: key)
        self.key = key
        self.byteCount = byteCount
        self.storedAt = storedAt
        pixelSize = nil
        isRendition = false
    }

    /// Makes the file of an entry.
    init(of entry: CacheEntry, byteCount: Int, storedAt: Date) {
        let (base, variant) = CacheKey.parts(of: entry.key)
        id = ID(key: entry.key)
        key = String(base)
        self.byteCount = byteCount
        self.storedAt = storedAt
        pixelSize = entry.rendition?.size
        isRendition = variant != nil
    }
}
