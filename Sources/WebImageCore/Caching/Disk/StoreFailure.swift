import FoundationEssentials

/// Why an entry is not in its file.
package enum StoreFailure: Error, Sendable, Equatable {
    /// The image exceeds a quarter of the cache's limit.
    case tooLarge(limit: Int)
    /// The key and metadata exceed the limit of readers.
    case metadataTooLarge
    /// Too many bytes already wait to be written.
    case tooMuchWaits
    /// A system call failed, now or within the last minute.
    case failed(String)
    /// The image was removed, or replaced, before it was written.
    case removed
    /// The data cache of the app does not have the entry.
    case refused
    /// The manager has no disk cache.
    case noCache
    /// Loads of the URL never use the disk cache.
    case isLocal
    /// The image is not complete.
    case isPartial
    /// No entry exists that could be changed.
    case noEntry
    /// The entry is in a read-only directory.
    case isBundled
    /// The attachment exceeds the limit of an entry.
    case attachmentTooLarge(byteCount: Int)

    /// The failure as a public error.
    func error(_ url: URL) -> ImageError {
        let (reason, remedy) = text
        return ImageError(.notStored, url: url, reason: reason, remedy: remedy)
    }

    private var text: (reason: String, remedy: String) {
        switch self {
        case .tooLarge(let limit):
            (
                "The disk cache keeps no image of more than \(Magnitude.bytes(limit)), a quarter of its limit",
                "Raise ImageManager.Configuration.DiskCache.maximumByteCount, or store a smaller file."
            )
        case .metadataTooLarge:
            (
                "The cache key and what the server has said are more than \(Self.metadataLimit)",
                "Give the request a shorter cacheKey."
            )
        case .tooMuchWaits:
            ("Too much waits to be written to the disk", "Wait for earlier images to be written before storing more.")
        case .failed(let message):
            (
                "The disk cache could not be written (\(message))",
                "Make room on the disk, or make the directory writable; the next attempt is made a minute later."
            )
        case .removed:
            ("The image was removed or replaced before it was written", "Store it again if it is still wanted.")
        case .refused:
            (
                "The data cache of the app has not kept the image",
                "Make sure that its store(_:) accepts the entry, and that metadata(for:) finds it afterwards."
            )
        case .noCache:
            ("The manager has no disk cache", "Store the image in memory only, or set Configuration.diskCache.")
        case .isLocal:
            (
                "Images of this URL are read where they are, and never from the disk cache",
                "Store the image in memory only, or under a URL of another scheme."
            )
        case .isPartial:
            ("The image is a partial one", "Store the image that the completion of its load receives.")
        case .noEntry:
            ("The disk cache has no original of this image", "Load or store the image first.")
        case .isBundled:
            (
                "The image is only in one of Configuration.DiskCache.readOnlyDirectories",
                "Store its bytes in the cache first."
            )
        case .attachmentTooLarge(let byteCount):
            (Self.attachmentReason(byteCount), "Keep a key to the data instead, and the data elsewhere.")
        }
    }

    private static var metadataLimit: Magnitude { .bytes(CacheEntryFile.maximumMetadataLength) }

    private static func attachmentReason(_ byteCount: Int) -> String {
        let (count, limit) = Magnitude.bytes(byteCount, exceeding: CacheEntry.maximumAttachmentByteCount)
        return "The attachment has \(count), more than \(limit)"
    }
}
